"""The layout of the pages of a log."""

import numpy as np
import pyarrow as pa
import pytest

import truerank as tr
from truerank.errors import InputError


def page(rows, sessions=2):
    n = len(rows)
    columns = {"session": np.repeat(np.arange(sessions), n), "query": 0, "label": 0}
    columns = {name: np.broadcast_to(value, sessions * n) for name, value in columns.items()}
    position = np.tile(np.arange(1, n + 1), sessions)
    return pa.table({**columns, "item": position, "position": position, "row": np.tile(rows, sessions)})


def test_the_layout_is_read_from_rows():
    assert tr.open_log(page([1, 1, 1, 2, 2, 4])).row_lengths() == [3, 2, 1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (page([1, 2]).drop_columns("row"), "the log has no column row"),
        (pa.concat_tables([page([1, 1, 2]), page([1, 2, 2])]), "position 2 is not always in the same row"),
        (page([1, 2, 1]), "rows do not follow each other"),
        (page([1, 2, 2]).slice(1, 2), "some positions were never shown"),
    ],
)
def test_pages_without_one_layout_are_refused(table, message):
    with pytest.raises(InputError, match=message):
        tr.open_log(table).row_lengths()
