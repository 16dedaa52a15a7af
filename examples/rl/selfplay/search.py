"""Monte-Carlo tree search as in AlphaZero: few playouts, each ends in one look at the network."""

import math

import numpy as np
from game import COLUMNS, Position
from marks import operation, step, step_end

EXPLORATION = 1.5
NOISE_SHARE, NOISE = 0.25, 1.0  # of the root's priors, where games are to differ
OPENING = 6                     # moves drawn by their visits; later ones are the most visited


class Node:
    __slots__ = ("prior", "visits", "total", "children", "position")

    def __init__(self, prior, position=None):
        self.prior, self.position = prior, position
        self.visits, self.total, self.children = 0, 0.0, None

    def best(self):
        """The (column, child) that is worth a playout next."""
        scale = EXPLORATION * math.sqrt(self.visits)

        def score(item):
            child = item[1]
            value = -child.total / child.visits if child.visits else 0.0
            return value + scale * child.prior / (1 + child.visits)

        return max(self.children.items(), key=score)


def expand(node, evaluate):
    """Looks at a leaf; its value for who is to move there, -1 to 1."""
    with operation("simulate"):
        lost, legal = node.position.lost(), node.position.legal()
    if lost or not legal:
        return -1.0 if lost else 0.0
    with operation("inference"):
        priors, value = evaluate(node.position.features())
    total = float(sum(priors[column] for column in legal))
    node.children = {column: Node(float(priors[column]) / total) for column in legal}
    return value


def playout(root, evaluate):
    path, node = [root], root
    while node.children:
        column, child = node.best()
        if child.position is None:
            with operation("simulate"):
                child.position = node.position.play(column)
        node = child
        path.append(node)
    value = expand(node, evaluate)
    for node in reversed(path):
        node.visits += 1
        node.total += value
        value = -value


def search(position, evaluate, playouts, random=None):
    """How often each column was tried: COLUMNS float32 that sum to 1. `random` adds noise."""
    root = Node(1.0, position)
    playout(root, evaluate)
    if random is not None:
        noise = random.dirichlet([NOISE] * len(root.children))
        for child, drawn in zip(root.children.values(), noise):
            child.prior += NOISE_SHARE * (float(drawn) - child.prior)
    for _ in range(playouts):
        playout(root, evaluate)
    visits = np.zeros(COLUMNS, np.float32)
    for column, child in root.children.items():
        visits[column] = child.visits
    return visits / visits.sum()


def play_game(evaluators, playouts, random, noise):
    """Plays one game; `evaluators` of the first and second player.

    Returns the winner (0, 1, None: drawn) and (features, visits) of each move.
    """
    position, moves, winner = Position(), [], None
    while winner is None and position.legal():
        step("move")
        with operation("search"):
            visits = search(position, evaluators[len(moves) % 2], playouts,
                            random if noise else None)
        moves.append((position.features(), visits))
        drawn = len(moves) <= OPENING
        column = random.choice(COLUMNS, p=visits / visits.sum()) if drawn else visits.argmax()
        position = position.play(int(column))
        if position.lost():
            winner = (len(moves) - 1) % 2
    step_end()
    return winner, moves
