"""Logs with one result page a row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from impressions import rows_of

import truerank as tr
from truerank.errors import InputError

ROWS = [
    {"session": 1, "query": "a", "item": "x", "position": 1, "label": 0},
    {"session": 1, "query": "a", "item": "y", "position": 2, "label": 1},
    {"session": 1, "query": "a", "item": "z", "position": 3, "label": 1},
    {"session": 2, "query": "a", "item": "z", "position": 1, "label": 0},
    {"session": 3, "query": "b", "item": "w", "position": 1, "label": 1},
    {"session": 3, "query": "b", "item": "x", "position": 2, "label": 0},
]
ITEMS = {"session": [1, 2, 3], "query": ["a", "a", "b"], "items": ["x, y ,z", "z", "w,x"]}
CLICKS = {
    "positions": ["2, 3", "", "1"],
    "items": ["z,y", None, "w"],
    "labels": ["0,1,1", "0", "1,0"],
}


def as_lists(column, kind=None):
    parts = [None if text is None else [p.strip() for p in text.split(",") if p.strip()] for text in column]
    return pa.array(parts if kind is None else [p and [kind(v) for v in p] for p in parts])


@pytest.mark.parametrize("clicked", CLICKS)
@pytest.mark.parametrize("form", ["text", "lists"])
def test_pages_become_impressions(clicked, form, engine):
    table = pa.table(ITEMS | {"clicks": CLICKS[clicked]})
    if form == "lists":
        kind = str if clicked == "items" else int
        table = table.set_column(2, "items", as_lists(ITEMS["items"]))
        table = table.set_column(3, "clicks", as_lists(CLICKS[clicked], kind))
    log = tr.open_pages(table, engine, clicked=clicked)
    assert rows_of(log) == ROWS
    assert log.validate().ok
    assert log.validate().found == ()


def test_positions_may_count_from_0_and_columns_have_other_names(engine):
    table = pa.table({"id": [1, 2, 3], "q": ["a", "a", "b"], "docs": ["x|y|z", "z", "w|x"], "hits": ["1|2", "", "0"]})
    names = {"session": "id", "query": "q", "items": "docs", "clicks": "hits"}
    log = tr.open_pages(table, engine, names, first_position=0, separator="|")
    assert rows_of(log) == ROWS


def test_number_items_clicked_by_name_stay_numbers(engine):
    table = pa.table({"session": [1], "query": [1], "items": [[7, 8]], "clicks": [[8]]})
    assert [(r["item"], r["label"]) for r in rows_of(tr.open_pages(table, engine, clicked="items"))] == [(7, 0), (8, 1)]


@pytest.mark.parametrize("clicks", [[1.0, None, 2.0], ["1.0", "", " 02 "], [[1.0], [], [2.0]], [1, None, 2]])
def test_clicked_positions_are_whole_numbers_however_they_are_written(clicks, engine):
    pages = pa.table({"session": [1, 2, 3], "query": [1, 1, 1], "items": [["a", "b"]] * 3, "clicks": clicks})
    log = tr.open_pages(pages, engine)
    assert [row["label"] for row in rows_of(log)] == [1, 0, 0, 0, 0, 1]
    assert log.validate().ok


@pytest.mark.parametrize("name", ["pages.csv", "pages.tsv", "pages.parquet"])
def test_pages_are_read_from_files_with_all_that_goes_with_them(name, tmp_path, engine):
    extra = {"swap": ["", "5:control", ""], "device": ["phone", "desk", "phone"], "time": [1733893009] * 3}
    table = pa.table(ITEMS | {"clicks": CLICKS["positions"]} | extra)
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        separator = "," if name.endswith("csv") else "\t"
        lines = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
        (tmp_path / name).write_text("\n".join(separator.join(f'"{v}"' for v in line) for line in lines))
    rows = rows_of(tr.open_pages(tmp_path / name, engine, {"timestamp": {"from": "time", "unit": "s"}}))
    assert [{key: row[key] for key in ROWS[0]} for row in rows] == ROWS
    assert [row["device"] for row in rows] == ["phone"] * 3 + ["desk"] + ["phone"] * 2
    assert {row["timestamp"].year for row in rows} == {2024}
    assert rows[3]["swap"] == "5:control"


@pytest.mark.parametrize(
    ("clicked", "clicks", "unseen"),
    [
        ("positions", ["2,3,4,9,9", "0,x", "1"], [(1, None, 4), (1, None, 9), (2, None, 0), (2, None, None)]),
        ("items", ["z,y,q", "x", "w"], [(1, "q", None), (2, "x", None)]),
        ("labels", ["0,1,1,0,2", "0,0", "1,0"], [(1, None, 5)]),
    ],
)
def test_clicks_on_what_was_not_on_the_page_are_kept_and_counted(clicked, clicks, unseen, engine):
    log = tr.open_pages(pa.table(ITEMS | {"clicks": clicks}), engine, clicked=clicked)
    rows = [r for r in rows_of(log) if r["item"] is None or r["position"] is None]
    assert sorted(((r["session"], r["item"], r["position"]) for r in rows), key=str) == sorted(unseen, key=str)
    assert log.validate()["unseen_click"].rows == len(unseen)
    assert rows_of(log.repair(clicks_without_impression="drop")) == ROWS


def test_items_without_a_label_have_none(engine):
    log = tr.open_pages(pa.table(ITEMS | {"clicks": ["0,1", "0", None]}), engine, clicked="labels")
    assert [row["label"] for row in rows_of(log)] == [0, 1, None, 0, None, None]
    assert log.validate()["missing_label"].rows == 3


def test_pages_without_items_are_left_out_and_counted(engine):
    table = pa.table({"session": [1, 2, 3], "query": ["a"] * 3, "items": ["x", "", None], "clicks": ["1", "1", None]})
    log = tr.open_pages(table, engine)
    assert len(rows_of(log)) == 1
    problem = log.validate()["left_out"]
    assert (problem.says, problem.rows, problem.note) == ("a page without items", 2, True)
    assert problem.examples[0]["session"] == 2


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"clicked": "ranks"}, "clicked is 'ranks'; it must be 'positions', 'items' or 'labels'"),
        ({"first_position": 2}, "first_position is 2; it must be 1 or 0"),
        ({"columns": {"items": "docs"}}, "no column 'docs' for 'items'; there are session, query, items, clicks"),
        ({"columns": {"item": "items"}}, "columns names 'item', which is none of session, query, items"),
        ({"columns": {"items": "flag"}}, "of type boolean; it must hold lists, or text with a separator"),
    ],
)
def test_pages_that_are_none_are_refused(asked, says, engine):
    table = pa.table(ITEMS | {"clicks": CLICKS["positions"], "flag": [True] * 3})
    with pytest.raises(InputError, match=says):
        tr.open_pages(table, engine, **asked)
