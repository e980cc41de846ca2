"""Put a model into a search engine: the trees as the LTR plugins of Elasticsearch and OpenSearch read them.

The plugins read XGBoost's JSON dump (`"type": "model/xgboost+json"`): a list of trees whose nodes send a document on to
`yes` if its feature is *below* the split. LightGBM's send it to the left if the feature is *at most* the threshold, so
each threshold becomes the next number that the plugins' single precision can tell from it.

    python examples/search_engine_ltr.py > model.json     # the body of POST _ltr/_featureset/NAME/_createmodel
"""

import json
import sys
from typing import Any

import numpy as np

import truerank as tr

FEATURES = ["title_bm25", "body_bm25", "popularity", "age_days"]


def trained() -> tuple[Any, np.ndarray]:
    """A ranker trained on clicks, and documents to compare scores on."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(8_000, len(FEATURES))).astype(np.float32), [8] * 1_000
    relevant = rng.random(len(X)) < 1 / (1 + np.exp(2 - 2 * X[:, 0] - X[:, 2]))
    looks = tr.Independent(tr.inverse_rank(8))
    clicks = relevant & looks.sample(1_000, 8, rng).ravel()
    ranker = tr.LambdaMARTRanker("robust", looks, n_estimators=20, num_leaves=15)
    ranker.fit(X, clicks, group=group, position=tr.list_order(group), feature_name=FEATURES)
    return ranker.booster_, X[:500]


def plugin_trees(booster: Any) -> list[dict[str, Any]]:
    """The trees of a LightGBM booster in the plugins' format."""
    model = booster.dump_model()
    return [_node(tree["tree_structure"], model["feature_names"], [0], 0) for tree in model["tree_info"]]


def _node(node: dict[str, Any], names: list[str], next_id: list[int], depth: int) -> dict[str, Any]:
    number = next_id[0]
    next_id[0] += 1
    if "leaf_value" in node:
        return {"nodeid": number, "leaf": node["leaf_value"]}
    if node["decision_type"] != "<=":
        sys.exit(f"{names[node['split_feature']]} is categorical, which the plugins cannot read: encode it as numbers")
    left, right = (_node(node[side], names, next_id, depth + 1) for side in ("left_child", "right_child"))
    missing = left if node["default_left"] else right
    return {
        "nodeid": number,
        "depth": depth,
        "split": names[node["split_feature"]],
        "split_condition": _above(node["threshold"]),
        "yes": left["nodeid"],
        "no": right["nodeid"],
        "missing": missing["nodeid"],
        "children": [left, right],
    }


def _above(threshold: float) -> float:
    """The smallest single-precision number above: x ≤ threshold exactly if x < that, for x in single precision."""
    single = np.float32(threshold)
    return float(single if float(single) > threshold else np.nextafter(single, np.float32(np.inf)))


def plugin_score(trees: list[dict[str, Any]], document: dict[str, float]) -> float:
    """What the plugin computes for a document: the leaves it ends in, summed."""
    total = 0.0
    for node in trees:
        while "leaf" not in node:
            below = np.float32(document[node["split"]]) < np.float32(node["split_condition"])
            goes_to = node["yes"] if below else node["no"]
            node = next(child for child in node["children"] if child["nodeid"] == goes_to)
        total += node["leaf"]
    return total


def main() -> None:
    """Print the model for the plugin, once its scores are known to be the booster's."""
    booster, documents = trained()
    trees = plugin_trees(booster)
    ours = [plugin_score(trees, dict(zip(FEATURES, row, strict=True))) for row in documents]
    if not np.allclose(ours, booster.predict(documents), rtol=1e-12, atol=1e-12):
        sys.exit("the converted trees do not score as the booster does")
    print(f"{len(trees)} trees score {len(documents)} documents as the booster does", file=sys.stderr)
    model = {"type": "model/xgboost+json", "definition": json.dumps(trees)}
    print(json.dumps({"model": {"name": "truerank", "model": model}}))


if __name__ == "__main__":
    main()
