"""Logs of User Behavior Insights: queries and events."""

from __future__ import annotations

import json
from datetime import datetime

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from impressions import rows_of, write_ndjson

import truerank as tr
from truerank.errors import InputError

QUERIES = [
    {
        "application": "shop", "query_id": "q1", "user_query": "tv", "client_id": "c", "query_response_id": "r",
        "query_response_hit_ids": ["a", "b", "c"], "query_attributes": {}, "timestamp": "2025-01-23T13:18:22.274+0000",
    },
    {
        "application": "shop", "query_id": "q2", "user_query": "phone", "client_id": "c", "query_response_id": "s",
        "query_response_hit_ids": ["d", "e"], "query_attributes": {}, "timestamp": "2025-01-23T14:00:00Z",
    },
]  # fmt: skip


def event(action, query, item=None, ordinal=None, **more):
    return {
        "application": "shop", "action_name": action, "query_id": query, "client_id": "c",
        "timestamp": "2025-01-23T13:18:30Z", "message_type": None, "message": None,
        "event_attributes": {
            "object": {"object_id": item, "object_id_field": "sku"}, "position": {"ordinal": ordinal, "x": None},
        },
        **more,
    }  # fmt: skip


IMPRESSIONS = [
    event("impression", "q1", "a", 0),
    event("impression", "q1", "b", 1),
    event("impression", "q2", "e", 1),
    event("impression", "q2", "d", 0),
]
ACTIONS = [event("click", "q1", "b", 1), event("purchase", "q1", "b", 1), event("click", "q2", "d", 0)]


def opened(events, engine, queries=QUERIES, **how):
    fields = dict.fromkeys(key for row in events for key in row)
    return tr.open_ubi(
        pa.Table.from_pylist(queries), pa.Table.from_pylist([fields | row for row in events]), engine, **how
    )


def found(log):
    return [(r["session"], r["query"], r["item"], r["position"], r["label"]) for r in rows_of(log)]


FOUND = [("q1", "tv", "a", 1, 0), ("q1", "tv", "b", 2, 3), ("q2", "phone", "d", 1, 1), ("q2", "phone", "e", 2, 0)]


def flat(rows):
    """Events with dots in the names of their columns."""
    return [
        {
            **{key: value for key, value in row.items() if key != "event_attributes"},
            "event_attributes.object.object_id": row["event_attributes"]["object"]["object_id"],
            "event_attributes.position.ordinal": row["event_attributes"]["position"]["ordinal"],
        }
        for row in rows
    ]


@pytest.mark.parametrize("form", ["ndjson", "ndjson.gz", "parquet", "flat parquet", "csv", "frames"])
def test_queries_and_events_of_every_form_give_the_same_log(form, tmp_path, engine):
    queries, events = pa.Table.from_pylist(QUERIES).drop_columns("query_attributes"), IMPRESSIONS + ACTIONS
    if form.startswith("ndjson"):
        sources = tmp_path / f"queries.{form}", tmp_path / f"events.{form}"
        write_ndjson(QUERIES, sources[0])
        write_ndjson(events, sources[1])
    elif form.endswith("parquet"):
        sources = tmp_path / "queries.parquet", tmp_path / "events.parquet"
        pq.write_table(queries, sources[0])
        pq.write_table(pa.Table.from_pylist(flat(events) if "flat" in form else events), sources[1])
    elif form == "csv":
        sources = tmp_path / "queries.csv", tmp_path / "events.csv"
        hits = pa.array([",".join(row["query_response_hit_ids"]) for row in QUERIES])
        place = queries.column_names.index("query_response_hit_ids")
        pa.csv.write_csv(queries.set_column(place, "query_response_hit_ids", hits), sources[0])
        pa.csv.write_csv(pa.Table.from_pylist(flat(events)), sources[1])
    else:
        sources = queries.to_pandas(), pa.Table.from_pylist(events)
    log = tr.open_ubi(*sources, engine)
    assert found(log) == FOUND
    assert log.validate().ok
    assert rows_of(log)[0]["timestamp"] == datetime(2025, 1, 23, 13, 18, 22, 274000)


def test_without_impressions_all_hits_of_a_query_were_shown(engine):
    hits = [("q1", "tv", "a", 1, 0), ("q1", "tv", "b", 2, 3), ("q1", "tv", "c", 3, 0), *FOUND[2:]]
    assert found(opened(ACTIONS, engine)) == hits
    assert found(opened(IMPRESSIONS + ACTIONS, engine, impressions="hits")) == hits


def test_an_impression_without_an_ordinal_takes_its_place_among_the_hits(engine):
    events = [event("impression", "q1", "c"), event("impression", "q1", "a", 0), event("impression", "q1", "new")]
    log = opened(events, engine)
    assert found(log) == [("q1", "tv", "a", 1, 0), ("q1", "tv", "c", 3, 0), ("q1", "tv", "new", None, 0)]
    assert log.validate()["missing_position"].rows == 1


def test_an_event_sent_twice_is_one(engine):
    assert found(opened(3 * IMPRESSIONS + 2 * ACTIONS, engine)) == FOUND


def test_an_item_shown_in_two_places_is_counted_as_a_mistake(engine):
    log = opened([*IMPRESSIONS, event("impression", "q1", "a", 4)], engine)
    assert log.validate()["repeated_item"].rows == 1


def test_clicks_without_an_impression_are_kept_and_counted(engine):
    events = [*IMPRESSIONS, *ACTIONS, event("click", "q1", "z", 8), event("click", "q9", "a", 0, user_query="radio")]
    log = opened(events, engine)
    assert found(log) == sorted([*FOUND, ("q1", "tv", "z", None, 1), ("q9", "radio", "a", None, 1)])
    report = log.validate()
    assert (report["unseen_click"].rows, report["unseen_click"].sessions) == (2, 2)
    assert not report.ok
    assert found(log.repair(clicks_without_impression="drop")) == FOUND


def test_an_event_of_an_unknown_query_has_none(engine):
    log = opened([*IMPRESSIONS, event("impression", "q9", "a", 0)], engine)
    assert log.validate()["missing_query"].rows == 1


def test_what_is_left_out_is_counted_by_reason(engine):
    others = [event("on_search", "q1"), event("hover", "q1", "a", 0), event("click", None, "a"), event("click", "q1")]
    queries = [*QUERIES, QUERIES[0] | {"query_id": "q3"}]
    log = opened(IMPRESSIONS + ACTIONS + others, engine, queries)
    assert found(log) == FOUND
    assert {p.says: p.rows for p in log.validate().problems if p.rule == "left_out"} == {
        "a query of which nothing was shown": 1,
        "an event that is neither an impression nor graded": 2,
        "an impression or graded event without a query or an object": 2,
    }


@pytest.mark.parametrize("as_json", [False, True])
def test_ordinals_may_be_structures_and_count_from_1(as_json, tmp_path, engine):
    events = [event("view", "q1", "a", {"index": 1}), event("view", "q1", "c", {"index": 3})]
    if as_json:
        write_ndjson(QUERIES, tmp_path / "q.ndjson")
        write_ndjson(events, tmp_path / "e.ndjson")
        log = tr.open_ubi(tmp_path / "q.ndjson", tmp_path / "e.ndjson", engine, impression="view", first_ordinal=1)
    else:
        log = opened(events, engine, impression="view", first_ordinal=1)
    assert [row[2:4] for row in found(log)] == [("a", 1), ("c", 3)]


def test_ordinals_that_are_none_have_no_position(tmp_path, engine):
    write_ndjson(QUERIES, tmp_path / "q.ndjson")
    lines = [event("impression", "q9", item, ordinal) for item, ordinal in zip("abc", ("2", "top", 1.5), strict=True)]
    write_ndjson(lines, tmp_path / "e.ndjson")
    log = tr.open_ubi(tmp_path / "q.ndjson", tmp_path / "e.ndjson", engine)
    assert [row[2:4] for row in found(log)] == [("a", 3), ("b", None), ("c", None)]


def test_grades_are_those_given_and_the_largest_counts(engine):
    events = [*IMPRESSIONS, *ACTIONS, event("watch", "q1", "a", 0)]
    grades = {"purchase": 5, "click": 2, "watch": 0}
    assert [row[4] for row in found(opened(events, engine, grades=grades))] == [0, 5, 2, 0]


@pytest.mark.parametrize("when", [1737638302274, "1737638302274", datetime(2025, 1, 23, 13, 18, 22, 274000)])
def test_timestamps_may_count_milliseconds(when, engine):
    log = opened(IMPRESSIONS[:1], engine, [QUERIES[0] | {"timestamp": when}])
    assert rows_of(log)[0]["timestamp"] == datetime(2025, 1, 23, 13, 18, 22, 274000)


def test_a_query_logged_twice_is_one_unless_it_differs(engine):
    assert found(opened(IMPRESSIONS + ACTIONS, engine, 2 * QUERIES)) == FOUND
    other = QUERIES[0] | {"user_query": "telly"}
    assert opened(IMPRESSIONS, engine, [*QUERIES, other]).validate()["several_queries"].sessions == 1


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"grades": {}}, "grades is {}; it must give each event a whole number"),
        ({"grades": {"click": -1}}, "whole number from 0"),
        ({"first_ordinal": 3}, "first_ordinal is 3; it must be 0 or 1"),
        ({"impressions": "all"}, "impressions is 'all'; it must be 'events', 'hits' or None"),
    ],
)
def test_wrong_settings_are_refused(how, says, engine):
    with pytest.raises(InputError, match=says):
        opened(IMPRESSIONS, engine, **how)


def test_sources_without_the_fields_are_refused(engine):
    with pytest.raises(InputError, match="no column 'user_query'; there are query_id"):
        opened(IMPRESSIONS, engine, [{"query_id": "q1"}])
    with pytest.raises(
        InputError, match=r"the events have no field event_attributes.object.object_id; there are action"
    ):
        opened([{"action_name": "click", "query_id": "q1"}], engine)


def test_fields_nobody_sent_are_null_in_json(tmp_path, engine):
    write_ndjson(QUERIES, tmp_path / "q.ndjson")
    bare = [{"action_name": "impression", "query_id": "q1", "event_attributes": {"object": {"object_id": "a"}}}]
    (tmp_path / "e.ndjson").write_text("\n".join(map(json.dumps, bare)))
    assert found(tr.open_ubi(tmp_path / "q.ndjson", tmp_path / "e.ndjson", engine)) == [("q1", "tv", "a", 1, 0)]
