"""Metrics by name."""

from __future__ import annotations

import pytest

from truerank.errors import InputError
from truerank.metrics.names import metric_title, read_metric, read_metrics


@pytest.mark.parametrize(
    ("name", "measure", "at"), [("ndcg", "ndcg", None), (" NDCG@10 ", "ndcg", 10), ("precision@5", "precision", 5)]
)
def test_a_name_is_a_measure_and_a_number_of_ranks(name, measure, at):
    metric = read_metric(name)
    assert (metric.measure, metric.at) == (measure, at)
    assert metric.name == name.strip().lower()


@pytest.mark.parametrize("name", ["ndgc", "ndcg@", "ndcg@0", "ndcg@1.5", "ndcg@-1", "ndcg 10", "", None, 10, "p@5"])
def test_other_names_are_refused(name):
    with pytest.raises(InputError, match=r"is not known\. Known are ndcg, map, mrr and err"):
        read_metric(name)


@pytest.mark.parametrize("name", ["precision", "recall"])
def test_precision_and_recall_need_a_number_of_ranks(name):
    with pytest.raises(InputError, match=f"metric '{name}' needs a number of ranks: {name}@10, say"):
        read_metric(name)


@pytest.mark.parametrize(
    ("names", "message"), [([], "metrics is empty"), (["map", "MAP"], "'map' is given twice"), (["map", 3], "metric 3")]
)
def test_metrics_are_named_once_each(names, message):
    with pytest.raises(InputError, match=message):
        read_metrics(names)


def test_one_name_may_stand_alone():
    assert [m.name for m in read_metrics("map")] == ["map"]


def test_an_unknown_gain_is_refused_whatever_the_metric():
    with pytest.raises(InputError, match="gain is 'cubic'"):
        read_metric("map", "cubic")


def test_titles_are_as_papers_write_them():
    names = ["ndcg@10", "map", "mrr@5", "err", "precision@5", "recall@20"]
    assert [*map(metric_title, names)] == ["NDCG@10", "MAP", "MRR@5", "ERR", "Precision@5", "Recall@20"]
