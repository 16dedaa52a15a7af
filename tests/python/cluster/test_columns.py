"""Columns of many rows, folded into groups."""

import numpy as np
import pyarrow as pa
from crosscut.cluster.columns import dense, together


def test_dense_numbers_keys_in_the_order_in_which_they_occur_first():
    random = np.random.default_rng(1)
    for width in (1, 3, 50, 1 << 40):  # few values are looked up in a list, many in a hash table
        for _ in range(200):
            keys = random.integers(-width, width, int(random.integers(0, 60)))
            encoded = pa.array(keys).dictionary_encode()
            codes, count = dense(keys)
            assert count == len(encoded.dictionary)
            assert codes.tolist() == encoded.indices.to_pylist()


def test_rows_that_agree_in_all_columns_have_one_number():
    random = np.random.default_rng(2)
    for width in (2, 9, 1 << 40):
        for _ in range(100):
            rows = int(random.integers(1, 60))
            columns = [random.integers(-width, width, rows) for _ in range(3)]
            numbers, count = together(columns)
            seen = {}
            cells = zip(*(column.tolist() for column in columns))
            expected = [seen.setdefault(key, len(seen)) for key in cells]
            assert (numbers.tolist(), count) == (expected, len(seen))
