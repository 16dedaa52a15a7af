"""An environment that costs nothing, a network that costs much: nine tenths framework.

Usage: framework_bound.py STEPS
An actor and a critic of three wide layers learn from batches that are there already. The same seed
each time, one thread.
"""

import sys

import torch
from torch import nn

BATCH, STATE, WIDTH, ACTIONS = 64, 32, 256, 8


def wide(out):
    return nn.Sequential(nn.Linear(STATE, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
                         nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, out))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    actor, critic = wide(ACTIONS), wide(1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-4)
    states = torch.randn(64, BATCH, STATE)
    returns = states.sum(dim=2)
    for step in range(int(sys.argv[1])):
        state, wanted = states[step % 64], returns[step % 64]
        policy = torch.distributions.Categorical(logits=actor(state))
        value = critic(state).squeeze(1)
        action = policy.sample()
        gain = (wanted - value).detach()
        loss = (-(policy.log_prob(action) * gain).mean() + (wanted - value).square().mean() -
                0.01 * policy.entropy().mean())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(float(loss))


if __name__ == "__main__":
    main()
