"""Random logs, and how to write them as files of every kind."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq


def random_log(rng, n_sessions=60, *, text_ids=False, swaps=False):
    """Rows of sessions over a few lists with gaps between positions, some of them in swap experiments."""
    rows = []
    for session in range(n_sessions):
        query = int(rng.integers(4))
        size = int(rng.integers(1, 7))
        items = rng.permutation(8)[:size]
        positions = np.sort(rng.choice(np.arange(1, 7), size, replace=False))
        marker = rng.choice(["", "3:control", "3:swapped", "3,5:control", "3,5:swapped"]) if swaps else ""
        for item, position in zip(items, positions, strict=True):
            row = {
                "session": f"s{session}" if text_ids else session,
                "query": f"q{query}" if text_ids else query,
                "item": f"i{item}" if text_ids else int(item),
                "position": int(position),
                "label": int(rng.choice([0, 0, 1, 2])),
            }
            rows.append(row | ({"swap": str(marker)} if swaps else {}))
    rng.shuffle(rows)
    return pa.Table.from_pylist(rows)


def write_ndjson(rows, path):
    open_it = gzip.open if path.suffix == ".gz" else open
    with open_it(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


WRITERS = {
    "log.parquet": pq.write_table,
    "log.csv": pyarrow.csv.write_csv,
    "log.csv.gz": lambda table, path: write_gzip(table, path),
    "log.ndjson": lambda table, path: write_ndjson(table.to_pylist(), path),
    "log.jsonl.gz": lambda table, path: write_ndjson(table.to_pylist(), path),
}


def write_gzip(table, path):
    with gzip.open(path, "wb") as file:
        pyarrow.csv.write_csv(table, file)


def rows_of(log):
    """The rows of a log in order of session and position."""
    return log.engine.collect(log.table.order_by("session", "position", "item")).to_pylist()
