"""Learns four in a row from games against itself, in generations, as AlphaZero and Minigo do.

Worker processes play games and ask one network, in a process that serves them all or on an OpenCL
device that they share; a trainer learns from the games; an evaluation plays the new network against
the best one, which it replaces if it wins half of the points.

Usage: selfplay.py [--generations 3] [--workers 2] [--games 20] [--inference process|device]
                   crosscut record -o RUN -- python selfplay.py
"""

import argparse
import multiprocessing
import time
from importlib.util import find_spec

import numpy as np
from evaluators import OnDevice, Served, first_weights
from marks import phase
from search import play_game

# No device survives a fork. This file loads no PyTorch, so only processes that use it do.
SPAWN = multiprocessing.get_context("spawn")


class Child:
    """A process that computes one thing in each generation: make(*arguments) is called in it, and
    what that returns then for each ask()."""

    def __init__(self, name, make, *arguments):
        self.name = name
        self.ours, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=self._main, name=name, daemon=True,
                                     args=(theirs, make, arguments))
        self.process.start()
        theirs.close()

    @staticmethod
    def _main(connection, make, arguments):
        phase("start")
        compute = make(*arguments)
        phase(None)
        while (asked := connection.recv()) is not None:
            phase(f"generation {asked[0]}")
            connection.send(compute(*asked))
            phase(None)

    def ask(self, generation, *arguments):
        self._or_end(self.ours.send, (generation, *arguments))

    def result(self):
        """What it computed."""
        return self._or_end(self.ours.recv)

    def _or_end(self, call, *arguments):
        """Ends the program where the process is gone."""
        try:
            return call(*arguments)
        except (EOFError, ConnectionError):
            self.process.join()
            raise SystemExit(f"selfplay.py: {self.name} ended with "
                             f"{self.process.exitcode}") from None

    def end(self):
        self.ours.send(None)
        self.process.join()


def evaluator(inference, connection=None):
    if connection is not None:
        return Served(connection)
    if inference == "device":
        return OnDevice()
    from learner import Here

    return Here()


def worker(settings, number, connection):
    """Games against itself, until there are enough or time is up: their moves, (features, visits,
    outcome for who moved)."""
    ask = evaluator(settings.inference, connection)

    def play(generation, weights):
        ask.load(weights)
        random = np.random.default_rng((settings.seed, generation, number))
        end, moves = time.monotonic() + settings.seconds, []
        for _ in range(settings.games):
            winner, game = play_game((ask, ask), settings.playouts, random, noise=True)
            for i, (features, visits) in enumerate(game):
                outcome = 0.0 if winner is None else 1.0 if i % 2 == winner else -1.0
                moves.append((features, visits, outcome))
            if time.monotonic() >= end:
                break
        ask.done()
        return moves

    return play


def server(connections):
    from learner import serve

    return lambda generation, weights: serve(connections, weights)


def trainer(settings):
    from learner import train

    return lambda generation, weights, moves: train(settings.seed + generation, settings.updates,
                                                    weights, moves)


def evaluation(settings):
    """The new network against the best one: its share of the points."""
    players = evaluator(settings.inference), evaluator(settings.inference)

    def compare(generation, new, best):
        for player, weights in zip(players, (new, best)):
            player.load(weights)
        random = np.random.default_rng((settings.seed, generation))
        points = 0.0
        for game in range(settings.evaluation_games):
            first = game % 2  # the player that begins
            winner, _ = play_game((players[first], players[1 - first]), settings.playouts, random,
                                  noise=False)
            points += 0.5 if winner is None else float(winner == first)
        return points / settings.evaluation_games

    return compare


def start_players(settings):
    """The workers, and before them the process that serves them, where there is one."""
    connections, players = [None] * settings.workers, []
    if settings.inference == "process":
        pipes = [SPAWN.Pipe() for _ in range(settings.workers)]
        connections = [pipe[1] for pipe in pipes]
        players.append(Child("inference", server, [pipe[0] for pipe in pipes]))
    return players + [Child(f"selfplay worker {k}", worker, settings, k, connections[k])
                      for k in range(settings.workers)]


def learn(settings):
    phase("start")
    players = start_players(settings)
    learning, comparing = Child("trainer", trainer, settings), Child("evaluation", evaluation,
                                                                     settings)
    best, moves = first_weights(np.random.default_rng(settings.seed)), []
    for generation in range(settings.generations):
        phase("selfplay")
        for player in players:
            player.ask(generation, best)
        played = [move for player in players for move in player.result() or ()]
        moves += played
        phase("train")
        learning.ask(generation, best, moves)
        new, loss = learning.result()
        phase("evaluate")
        comparing.ask(generation, new, best)
        share = comparing.result()
        print(f"generation {generation}: {len(played)} moves, loss {loss:.2f}, "
              f"{share:.0%} of the points against the best", flush=True)
        if share >= 0.5:
            best = new
    phase("end")
    for child in (*players, learning, comparing):
        child.end()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--games", type=int, default=20, help="of each worker and generation")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="no worker begins another game of a generation after these")
    parser.add_argument("--playouts", type=int, default=24, help="before each move")
    parser.add_argument("--updates", type=int, default=100, help="of the network, by the trainer")
    parser.add_argument("--evaluation-games", type=int, default=6)
    parser.add_argument("--inference", choices=["process", "device"],
                        default="device" if find_spec("pyopencl") else "process",
                        help="default: device, where pyopencl is installed")
    parser.add_argument("--seed", type=int, default=1)
    settings = parser.parse_args()
    for name in ("generations", "workers", "games", "playouts", "updates", "evaluation_games"):
        if getattr(settings, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be 1 or more")
    return settings


if __name__ == "__main__":
    learn(parse_arguments())
