"""A real log, from one result page a row to weighted pairs; counted a second time without an engine."""

from __future__ import annotations

import csv
import gzip
from collections import Counter

import pytest
from test_compaction import assert_same_pairs

import truerank as tr

LOOKS = tr.Continuous(tr.inverse_rank(10))
COLUMNS = {"items": "docs", "clicks": "clicked_positions"}


@pytest.fixture(scope="module")
def pages(real_data):
    path = real_data / "yandex_click_log" / "serps.tsv.gz"
    with gzip.open(path, "rt") as file:
        rows = [
            (row["query"], row["docs"].split(","), {int(k) for k in row["clicked_positions"].split(",") if k})
            for row in csv.DictReader(file, delimiter="\t")
        ]
    return path, rows


def test_it_is_valid_and_summed_up_right(pages, engine):
    path, rows = pages
    log = tr.open_pages(path, engine, COLUMNS)
    assert log.validate().ok
    summary = log.summary()
    assert summary.sessions == len(rows) == 35_064
    assert summary.impressions == sum(len(items) for _, items, _ in rows) == 350_640
    assert summary.pages == len({(query, frozenset(items)) for query, items, _ in rows})
    assert summary.sessions_without_click == sum(not clicks for *_, clicks in rows)
    clicks = Counter(position for *_, clicked in rows for position in clicked)
    assert summary.positions.clicks.tolist() == [clicks[k] for k in range(1, 11)]


@pytest.mark.parametrize("merge", ["exact", "query"])
def test_it_is_compacted_as_in_memory(merge, pages, engine):
    path, rows = pages
    in_memory = tr.pair_weights(
        [int(k in clicks) for _, items, clicks in rows for k in range(1, len(items) + 1)],
        [k for _, items, _ in rows for k in range(1, len(items) + 1)],
        [len(items) for _, items, _ in rows],
        "complete",
        LOOKS,
        query=[query for query, *_ in rows],
        item=[item for _, items, _ in rows for item in items],
        merge=merge,
    )
    log = tr.open_pages(path, engine, COLUMNS)
    assert_same_pairs(log.compact(LOOKS, "complete", merge=merge), in_memory)
    assert len(log.session_counts().group) == len({(q, *items, *sorted(clicks)) for q, items, clicks in rows}) == 8272
