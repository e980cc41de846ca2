"""Training rankers from clicks: time, memory, and NDCG on golden labels, against the boosters' own rankers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import xgboost
from scipy import stats

import truerank as tr
from bench.data import N_FEATURES, Judged, Log, click_log, judged, with_initial_ranking
from bench.measure import Cost, in_own_process
from truerank.rankers import LambdaObjective

LISTS, ITEMS, PER_LIST, TREES = 3_000, 10, 16, 300
TEST_LISTS, TEST_ITEMS = 2_000, 24
THREADS = 2
LIGHTGBM = {
    "n_estimators": TREES,
    "learning_rate": 0.05,
    "num_leaves": 31,
    "feature_fraction": 0.9,
    "bagging_fraction": 0.9,
    "bagging_freq": 1,
    "max_bin": 255,
    "min_data_in_leaf": 50,
    "min_sum_hessian_in_leaf": 5.0,
    "n_jobs": THREADS,
    "verbose": -1,
    "random_state": 1,
}
XGBOOST = {
    "n_estimators": TREES,
    "learning_rate": 0.05,
    "max_leaves": 31,
    "max_depth": 0,
    "grow_policy": "lossguide",
    "tree_method": "hist",
    "max_bin": 255,
    "colsample_bytree": 0.9,
    "subsample": 0.9,
    "min_child_weight": 5.0,
    "n_jobs": THREADS,
    "random_state": 1,
}


@dataclass(frozen=True)
class Inputs:
    """What a contender gets: a row of X for every row of the log, or for every item of the judged lists."""

    X: np.ndarray
    clicks: np.ndarray
    group: np.ndarray
    positions: np.ndarray
    query: np.ndarray
    item: np.ndarray
    golden: np.ndarray


def lightgbm_lambdarank(at: Inputs) -> Any:
    return lightgbm.LGBMRanker(**LIGHTGBM).fit(at.X, at.clicks, group=at.group)


def lightgbm_position(at: Inputs) -> Any:
    train = lightgbm.Dataset(at.X, at.clicks, group=at.group, position=at.positions)
    return lightgbm.train({**LIGHTGBM, "objective": "lambdarank"}, train)


def xgboost_unbiased(at: Inputs) -> Any:
    qid = np.repeat(np.arange(len(at.group)), at.group)
    model = xgboost.XGBRanker(objective="rank:ndcg", lambdarank_unbiased=True, lambdarank_pair_method="topk", **XGBOOST)
    return model.fit(at.X, at.clicks, qid=qid)


def truerank_sessions(at: Inputs) -> Any:
    ranker = tr.LambdaMARTRanker("robust", examination(), **LIGHTGBM)
    return ranker.fit(at.X, at.clicks, at.group, position=at.positions)


def truerank_summed(at: Inputs) -> Any:
    return _summed(at, "robust", examination())


def truerank_summed_scaled(at: Inputs) -> Any:
    """A leaf of 50 rows of the log holds about 3 rows of the table."""
    return _summed(at, "robust", examination(), min_data_in_leaf=round(LIGHTGBM["min_data_in_leaf"] / PER_LIST))


def truerank_ratio(at: Inputs) -> Any:
    return _summed(at, "ratio", examination())


def truerank_clicks(at: Inputs) -> Any:
    return _summed(at, "none", None)


def truerank_golden(at: Inputs) -> Any:
    group = np.full(len(at.golden) // ITEMS, ITEMS)
    pairs = tr.pair_weights(at.golden, None, group, "none", gain="exp2")
    return tr.LambdaMARTRanker("none", **LIGHTGBM).fit_pairs(at.X, pairs)


def lightgbm_golden(at: Inputs) -> Any:
    """What LightGBM itself takes for as many rows as the summed table has: training cannot be had for less."""
    return lightgbm.LGBMRanker(**LIGHTGBM).fit(at.X, at.golden, group=np.full(len(at.golden) // ITEMS, ITEMS))


def _summed(at: Inputs, method: str, model: tr.Continuous | None, **changes: Any) -> Any:
    pairs = tr.pair_weights(at.clicks, at.positions, at.group, method, model, query=at.query, item=at.item)
    return tr.LambdaMARTRanker(method, model, **LIGHTGBM | changes).fit_pairs(at.X[pairs.item], pairs)


SESSION_BY_SESSION = {
    "LightGBM lambdarank": lightgbm_lambdarank,
    "LightGBM lambdarank, position=": lightgbm_position,
    "XGBoost lambdarank_unbiased": xgboost_unbiased,
    "truerank robust, session by session": truerank_sessions,
}
ON_THE_TABLE = {
    "truerank robust, summed": truerank_summed,
    "… with leaf minima scaled to its rows": truerank_summed_scaled,
    "truerank ratio (t+ fixed), summed": truerank_ratio,
    "truerank none (clicks), summed": truerank_clicks,
    "truerank golden labels (skyline)": truerank_golden,
    "LightGBM lambdarank, golden labels": lightgbm_golden,
}
OURS = "truerank robust, summed"


def examination() -> tr.Continuous:
    """How people look at the page in this benchmark."""
    return tr.Continuous(tr.inverse_rank(ITEMS))


def warm_up() -> None:
    """Let numba compile or load its kernels, and the boosters start their threads."""
    data = judged(20, ITEMS, 0)
    log = click_log(data, examination(), 2, 0)
    for by_session, contenders in ((True, SESSION_BY_SESSION), (False, ON_THE_TABLE)):
        for work in contenders.values():
            work(_inputs(data, log, by_session)).predict(data.X)


def _inputs(data: Judged, log: Log, by_session: bool) -> Inputs:
    X = data.X[log.rows.ravel()] if by_session else data.X
    return Inputs(X, log.clicks.ravel(), log.group, log.positions, log.lists, log.rows.ravel(), data.y)


def _prepare(seed: int, sessions_per_list: int, by_session: bool) -> Inputs:
    data = with_initial_ranking(judged(LISTS, ITEMS, seed), seed)
    log = click_log(data, examination(), sessions_per_list, seed)
    return _inputs(data, log, by_session)


def _test(seed: int) -> Judged:
    return judged(TEST_LISTS, TEST_ITEMS, 1_000 + seed)


def main(seeds: int) -> None:
    """Print the table of all contenders, then how training time grows with the log."""
    print(
        f"{LISTS:,} lists × {ITEMS} items × {PER_LIST} sessions, {N_FEATURES} features, {TREES} trees, {THREADS} "
        "threads; clicks under continuous examination 1/rank.\n"
        "Time and memory: from arrays to a trained model, everything warmed up; memory above the process with its "
        "libraries loaded, its input included.\n"
        f"NDCG: golden labels of {TEST_LISTS:,} lists of {TEST_ITEMS}, {seeds} generated sets; "
        f"p: paired t-test over all lists against '{OURS}', * where it is beaten."
    )
    costs: dict[str, list[Cost]] = {}
    ndcg: dict[str, dict[int, list[np.ndarray]]] = {}
    for seed in range(seeds):
        test = _test(seed)
        for by_session, contenders in ((True, SESSION_BY_SESSION), (False, ON_THE_TABLE)):
            for name, work in contenders.items():
                cost = in_own_process(work, Scores(seed), warm_up, _prepare, seed, PER_LIST, by_session)
                costs.setdefault(name, []).append(cost)
                for at in (1, 10):
                    ndcg.setdefault(name, {}).setdefault(at, []).append(_ndcg(cost.result, test, at))
    _print_contenders(costs, ndcg)
    _print_gradient_share()
    _print_growth()


@dataclass(frozen=True)
class Scores:
    """What a trained model says of the test lists."""

    seed: int

    def __call__(self, model: Any) -> np.ndarray:
        return np.asarray(model.predict(_test(self.seed).X))


def _ndcg(scores: np.ndarray, test: Judged, at: int) -> np.ndarray:
    values = tr.ndcg(scores, test.y, test.group, at)
    return values[~np.isnan(values)]


def _print_contenders(costs: dict[str, list[Cost]], ndcg: dict[str, dict[int, list[np.ndarray]]]) -> None:
    first = costs["LightGBM lambdarank"]
    base_time, base_memory = np.median([c.seconds for c in first]), np.median([c.megabytes for c in first])
    print(f"{'':<38}{'s':>8}{'ratio':>8}{'MB':>8}{'ratio':>8}{'NDCG@1':>9}{'p':>9} {'NDCG@10':>9}{'p':>9}")
    for name, runs in costs.items():
        took, memory = np.median([c.seconds for c in runs]), np.median([c.megabytes for c in runs])
        line = f"{name:<38}{took:>8.2f}{took / base_time:>8.3f}{memory:>8.0f}{memory / base_memory:>8.3f}"
        for at in (1, 10):
            ours, theirs = np.concatenate(ndcg[OURS][at]), np.concatenate(ndcg[name][at])
            p = stats.ttest_rel(theirs, ours).pvalue if name != OURS else float("nan")
            line += f"{theirs.mean():>9.4f}" + (f"{p:>9.1g}" if name != OURS else f"{'':>9}")
            line += "*" if p < 0.05 and theirs.mean() > ours.mean() else " "
        print(line, flush=True)


def _print_gradient_share() -> None:
    """What the objective takes of a session-by-session training, measured inside it."""
    at = _prepare(0, PER_LIST, by_session=True)
    pairs = tr.pair_weights(at.clicks, at.positions, at.group, "robust", examination())
    objective, spent = LambdaObjective(pairs, threads=THREADS), []

    def timed(scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
        began = time.perf_counter()
        result = objective(scores)
        spent.append(time.perf_counter() - began)
        return result

    params = {**LIGHTGBM, "n_estimators": 50, "objective": timed, "metric": "none"}
    train = lightgbm.Dataset(at.X, at.clicks, group=at.group, params=LIGHTGBM).construct()
    began = time.perf_counter()
    lightgbm.train(params, train)
    share = sum(spent) / (time.perf_counter() - began)
    print(
        f"gradient, session by session: {np.median(spent) * 1e3:.1f} ms a tree, {share:.1%} of training (target: 5 %)"
    )


def _print_growth() -> None:
    """Sixteen sessions a list against ten times as many: the same rows, more pairs. Runs alternate, medians count."""
    logs = [_summed_pairs(0, n) for n in (PER_LIST, 10 * PER_LIST)]
    took = np.array([[_seconds_to_train(log) for log in logs] for _ in range(6)])[1:]
    few, many = np.median(took, axis=0)
    print(
        f"training on summed pairs, {PER_LIST} → {10 * PER_LIST} sessions a list: {few:.2f} s → {many:.2f} s, "
        f"{many / few:.3f} × (target: 1.05 ×)"
    )


def _summed_pairs(seed: int, sessions_per_list: int) -> tuple[np.ndarray, tr.PairWeights]:
    at = _prepare(seed, sessions_per_list, by_session=False)
    pairs = tr.pair_weights(at.clicks, at.positions, at.group, "robust", examination(), query=at.query, item=at.item)
    return at.X[pairs.item], pairs


def _seconds_to_train(prepared: tuple[np.ndarray, tr.PairWeights]) -> float:
    began = time.perf_counter()
    tr.LambdaMARTRanker("robust", **LIGHTGBM).fit_pairs(*prepared)
    return time.perf_counter() - began
