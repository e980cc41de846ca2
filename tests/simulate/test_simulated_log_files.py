"""Simulated logs on disk: the sessions of `simulate_clicks`, as `open_log` reads them, whole or not at all."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from enumerated import OnlySample

import truerank as tr
from truerank.errors import ExaminationError, InputError
from truerank.propensity.counts import swap_arms
from truerank.simulate import plan as planning
from truerank.types import JudgedLists, SwapArms

MODELS = {
    "independent": tr.Independent(tr.inverse_rank(7)),
    "continuous": tr.Continuous(tr.inverse_rank(7)),
    "row skipping": tr.RowSkipping(0.3, 0.8, row_lengths=[3, 4]),
    "through sample": OnlySample(tr.Continuous(tr.inverse_rank(7))),
}
RNG = np.random.default_rng(0)
GROUP = RNG.integers(1, 8, 300)
LABELS = RNG.integers(0, 5, GROUP.sum())
SWAPS = [tr.SwapExperiment([2, 3], share=0.5), tr.JointSwapExperiment([(2, 4)], share=0.3)]


def marker(k1, k2, swapped):
    return f"{k1}{f',{k2}' * (k2 > 0)}:{('control', 'swapped')[swapped]}" if k1 else None


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("require_click", [False, True])
def test_the_file_holds_the_sessions_of_simulate_clicks(model, require_click, tmp_path):
    options = {"group": GROUP, "require_click": require_click, "swap": SWAPS}
    tr.simulate_log(LABELS, model, tmp_path / "log.parquet", 9, 3, **options)
    sessions = tr.simulate_clicks(LABELS, model, 9, 3, **options)
    table = pq.read_table(tmp_path / "log.parquet")
    number = np.repeat(np.arange(sessions.n_sessions), sessions.group)
    for name, values in {
        "session": number,
        "query": sessions.query[number],
        "item": sessions.item,
        "position": sessions.positions,
        "label": sessions.clicks,
    }.items():
        np.testing.assert_array_equal(table[name].to_numpy(), values, err_msg=name)
    markers = [marker(*row) for row in sessions.swap.tolist()]
    assert table["swap"].to_pylist() == [markers[session] for session in number]
    assert len(set(markers)) == 7


@pytest.mark.parametrize("swap", [None, SWAPS])
def test_portions_make_no_difference(swap, tmp_path, monkeypatch):
    arguments = (LABELS, MODELS["continuous"])
    tr.simulate_log(*arguments, tmp_path / "one.parquet", 9, 3, group=GROUP, swap=swap)
    monkeypatch.setattr(planning, "ROWS_PER_PORTION", 1_000)
    told = []
    tr.simulate_log(
        *arguments, tmp_path / "many.parquet", 9, 3, group=GROUP, swap=swap, progress=lambda *now: told.append(now)
    )
    one, many = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("one", "many"))
    assert one.equals(many)
    done, totals = zip(*told, strict=True)
    assert len(told) > 10
    assert list(done) == sorted(set(done))
    assert set(totals) == {done[-1]} == {len(np.unique(one["session"]))}


def test_the_log_is_valid_and_its_swaps_are_counted_as_those_in_memory(tmp_path):
    options = {"group": GROUP, "require_click": False, "swap": SWAPS}
    log = tr.simulate_log(LABELS, MODELS["continuous"], tmp_path / "log.parquet", 9, 3, **options)
    assert not log.validate().found
    ours = log.swap_arms()
    in_memory = swap_arms(tr.simulate_clicks(LABELS, MODELS["continuous"], 9, 3, **options))
    for field in fields(SwapArms):
        np.testing.assert_array_equal(getattr(ours, field.name), getattr(in_memory, field.name))
    assert len(ours.k1) == 6


def test_ids_of_queries_are_those_of_the_judged_lists(tmp_path):
    names = np.array([f"query {q}" for q in range(len(GROUP))])
    judged = JudgedLists(np.zeros((len(LABELS), 1), dtype=np.float32), LABELS, GROUP, names)
    tr.simulate_log(judged, MODELS["continuous"], tmp_path / "log.parquet", 2, drop_irrelevant=False, noise=0.1)
    table = pq.read_table(tmp_path / "log.parquet")
    assert table["query"].to_pylist() == np.repeat(names, GROUP)[table["item"].to_numpy()].tolist()


def test_other_programs_read_it_too(tmp_path):
    tr.simulate_log(LABELS, MODELS["row skipping"], tmp_path / "log.parquet", 9, 3, group=GROUP, swap=SWAPS)
    ours = pq.read_table(tmp_path / "log.parquet")
    assert ours.schema.field("swap").type == pa.string()
    theirs = polars.read_parquet(tmp_path / "log.parquet").to_arrow()
    for name in ours.column_names:
        assert theirs[name].to_pylist() == ours[name].to_pylist()


# grids


def test_a_grid_says_in_which_row_and_column_an_item_was(tmp_path):
    log = tr.simulate_log(LABELS, MODELS["row skipping"], tmp_path / "log.parquet", 2, group=GROUP)
    table = pq.read_table(tmp_path / "log.parquet")
    places = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4)]
    found = set(zip(*(table[name].to_pylist() for name in ("position", "row", "column")), strict=True))
    assert found == {(k + 1, *place) for k, place in enumerate(places)}
    assert log.row_lengths() == [3, 4]
    assert not log.validate().found


def test_any_model_can_be_shown_in_a_grid_and_none_need_be(tmp_path):
    model = MODELS["independent"]
    log = tr.simulate_log(LABELS, model, tmp_path / "grid.parquet", 2, group=GROUP, row_lengths=[2, 2, 2, 2])
    assert log.row_lengths() == [2, 2, 2, 1]
    tr.simulate_log(LABELS, model, tmp_path / "list.parquet", 2, group=GROUP)
    assert pq.read_schema(tmp_path / "list.parquet").names == ["session", "query", "item", "position", "label"]


def test_a_grid_that_is_too_small_or_none_is_refused(tmp_path):
    for rows, message, error in (
        ([2, 2], "row_lengths has 4 places and the longest list 7 items", InputError),
        ([0, 9], "row_lengths is", ExaminationError),
    ):
        with pytest.raises(error, match=message):
            tr.simulate_log(LABELS, MODELS["continuous"], tmp_path / "x.parquet", group=GROUP, row_lengths=rows)
    assert not list(tmp_path.iterdir())


# whole or not at all


def test_an_interruption_leaves_what_was_there(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "ROWS_PER_PORTION", 1_000)
    (tmp_path / "log.parquet").write_text("the old one")

    def interrupt(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tr.simulate_log(LABELS, MODELS["continuous"], tmp_path / "log.parquet", group=GROUP, progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]
    assert (tmp_path / "log.parquet").read_text() == "the old one"


@pytest.mark.parametrize("name", ["log.csv", "log", "log.parquet.gz"])
def test_only_parquet_is_written_and_that_is_said_before_anything_else(name, tmp_path):
    with pytest.raises(InputError, match=r"parquet"):
        tr.simulate_log(LABELS, MODELS["continuous"], tmp_path / name, group=GROUP)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["features.csv", "features"])
def test_features_are_written_as_parquet_too(name, tmp_path):
    judged = JudgedLists(np.zeros((len(LABELS), 1), dtype=np.float32), LABELS, GROUP, np.arange(len(GROUP)))
    with pytest.raises(InputError, match=r"it must end in \.parquet"):
        tr.write_features(judged, tmp_path / name)
    assert not list(tmp_path.iterdir())
    tr.write_features(judged, tmp_path / "features.PQ")
    assert pq.read_table(tmp_path / "features.PQ").column_names == ["query", "item", "f1"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nodir/log\.parquet' and there is no folder .*nodir\. Hint: make it"):
        tr.simulate_log(LABELS, MODELS["continuous"], tmp_path / "nodir" / "log.parquet", group=GROUP)


def test_memory_does_not_grow_with_the_log(tmp_path, monkeypatch):
    """Twenty times as many sessions: what Python and NumPy hold at most, and what Arrow does, in portions."""
    monkeypatch.setattr(planning, "ROWS_PER_PORTION", 20_000)

    def peak(sessions):
        tracemalloc.start()
        tr.simulate_log(LABELS, MODELS["continuous"], tmp_path / "log.parquet", sessions, group=GROUP)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    peak(30)
    few, many = peak(30), peak(600)
    assert pq.read_metadata(tmp_path / "log.parquet").num_rows > 500_000
    assert many < 1.3 * few
