"""The examples run as scripts, and do what they say."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"


def output_of(name):
    found = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found


@pytest.fixture(scope="module")
def engine():
    spec = importlib.util.spec_from_file_location("search_engine_ltr", FOLDER / "search_engine_ltr.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stock_lightgbm_serves_the_model_without_truerank():
    answer = output_of("serve_with_lightgbm.py").stdout
    assert "truerank was not needed" in answer


def test_the_model_for_the_search_engine_is_what_its_plugin_reads():
    found = json.loads(output_of("search_engine_ltr.py").stdout)
    assert found["model"]["model"]["type"] == "model/xgboost+json"
    trees = json.loads(found["model"]["model"]["definition"])
    assert len(trees) == 20
    assert {"nodeid", "split", "split_condition", "yes", "no", "missing", "children"} <= trees[0].keys()


def test_converted_trees_score_as_the_booster_also_at_the_thresholds(engine):
    booster, documents = engine.trained()
    trees = engine.plugin_trees(booster)
    thresholds = np.array([node["threshold"] for tree in booster.dump_model()["tree_info"] for node in inner(tree)])
    edge = np.tile(documents[:1], (len(thresholds), 1))
    edge[:, 0] = thresholds.astype(np.float32)
    just_above = edge.copy()
    just_above[:, 0] = np.nextafter(edge[:, 0], np.float32(np.inf))
    for rows in (documents, edge, just_above):
        ours = [engine.plugin_score(trees, dict(zip(engine.FEATURES, row, strict=True))) for row in rows]
        assert np.allclose(ours, booster.predict(rows), rtol=1e-12, atol=1e-12)


def inner(tree):
    """The nodes of a tree that have a threshold."""
    waiting = [tree["tree_structure"]]
    while waiting:
        node = waiting.pop()
        if "threshold" in node:
            yield node
            waiting += [node["left_child"], node["right_child"]]
