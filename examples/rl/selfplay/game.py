"""Four in a row on a board of 6 columns and 5 rows: stones fall, four in any line win."""

import numpy as np

COLUMNS, ROWS = 6, 5
FEATURES = 2 * COLUMNS * ROWS
# A column is ROWS bits and one above them that stays 0, so that no line wraps around.
_STRIDE = ROWS + 1
_LINES = (1, _STRIDE, _STRIDE - 1, _STRIDE + 1)
_CELLS = np.array([column * _STRIDE + row for column in range(COLUMNS) for row in range(ROWS)])


class Position:
    """A position; `own` are the stones of who is to move, `taken` those of both, as bits."""

    __slots__ = ("own", "taken")

    def __init__(self, own=0, taken=0):
        self.own, self.taken = own, taken

    def legal(self):
        """The columns that are not full."""
        return [column for column in range(COLUMNS)
                if not self.taken >> (column * _STRIDE + ROWS - 1) & 1]

    def play(self, column):
        """The position after a stone in a column, which must not be full."""
        stone = (self.taken + (1 << column * _STRIDE)) & ~self.taken
        stone &= ((1 << ROWS) - 1) << column * _STRIDE
        return Position(self.taken ^ self.own, self.taken | stone)

    def lost(self):
        """Whether who has just moved has four in a line."""
        stones = self.taken ^ self.own
        for shift in _LINES:
            pairs = stones & stones >> shift
            if pairs & pairs >> 2 * shift:
                return True
        return False

    def features(self):
        """FEATURES float32: the own stones, then the other's, column by column."""
        bits = [self.own >> cell & 1 for cell in _CELLS.tolist()]
        bits += [(self.taken ^ self.own) >> cell & 1 for cell in _CELLS.tolist()]
        return np.array(bits, np.float32)
