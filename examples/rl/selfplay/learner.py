"""What needs PyTorch: the network that learns, and the one that answers for all workers."""

from multiprocessing.connection import wait

import numpy as np
import torch
from evaluators import SIZES, answer
from game import FEATURES
from marks import operation, step, step_end
from torch import nn
from torch.nn import functional

BATCH, LEARNING_RATE, DECAY = 64, 2e-3, 1e-4

torch.set_num_threads(1)  # the other processes need the other cores


def network(weights):
    """The network of these weights (evaluators.py)."""
    layers = [nn.Linear(*sizes) for sizes in zip(SIZES, SIZES[1:])]
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, weights):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


class Here:
    """An evaluator: the network in this process."""

    def load(self, weights):
        self.network = network(weights)

    @torch.inference_mode()
    def __call__(self, features):
        return answer(self.network(torch.from_numpy(features)[None])[0].numpy())

    def done(self):
        """Nothing: no one waits."""


@torch.inference_mode()
def serve(connections, weights):
    """Answers those who ask at the same time together, until each has said that it is done.
    Batches have one size, so that no answer depends on who else asks."""
    model, open_ones = network(weights), list(connections)
    asked = torch.zeros(len(connections), FEATURES)
    while open_ones:
        batch = []
        for connection in wait(open_ones):
            features = connection.recv_bytes()
            if features:
                asked[len(batch)] = torch.from_numpy(np.frombuffer(features, np.float32).copy())
                batch.append(connection)
            else:
                open_ones.remove(connection)
        if batch:
            with operation("inference"):
                answers = model(asked).numpy()
            for connection, outputs in zip(batch, answers):
                connection.send_bytes(outputs)


def train(seed, updates, weights, moves):
    """Learns from moves (features, visits, outcome) drawn at random; the new weights and the loss
    of late."""
    torch.manual_seed(seed)
    model = network(weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    features, visits, outcomes = (torch.from_numpy(np.array(column, np.float32))
                                  for column in zip(*moves))
    losses = []
    for _ in range(updates):
        step("update")
        with operation("replay"):
            drawn = torch.randint(len(moves), (BATCH,))
            seen, wanted, won = features[drawn], visits[drawn], outcomes[drawn]
        answers = model(seen)
        loss = (functional.cross_entropy(answers[:, :-1], wanted) +
                functional.mse_loss(torch.tanh(answers[:, -1]), won))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    step_end()
    layers = [layer for layer in model if isinstance(layer, nn.Linear)]
    learned = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers]
    return learned, sum(losses[-20:]) / len(losses[-20:])
