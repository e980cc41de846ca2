"""Running the experiment: the same bytes however it is run, stopped or not; another experiment is kept apart."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import truerank as tr
from truerank.errors import InputError, MissingDataError, ResourceError
from truerank.experiment import lightgbm_peer
from truerank.experiment.cells import cells_of
from truerank.experiment.config import read_config
from truerank.experiment.methods import METHODS
from truerank.experiment.prepared import load_logged, shown_lists
from truerank.experiment.tables import FORMATS


def tables_in(folder):
    return {way.file: (folder / way.file).read_bytes() for way in FORMATS.values()}


@pytest.fixture(scope="module")
def plain(settings, tmp_path_factory):
    """The small experiment with the paper's methods."""
    return tr.reproduce(settings, tmp_path_factory.mktemp("plain"))


SCRIPT = """
import json, sys
import truerank as tr

if __name__ == "__main__":
    settings, out, jobs = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    tr.reproduce(settings, out, jobs=jobs, progress=lambda done, total, what: print(what, flush=True))
"""


def start(settings, out, jobs, **environment):
    command = [sys.executable, "-c", SCRIPT, json.dumps(settings), str(out), str(jobs)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    )


def kill_after(process, n_models):
    """Kill a run, as for want of memory, once it has finished some models."""
    for line in process.stdout:
        n_models -= line.count("-5\n")  # models are named by their seed last
        if n_models <= 0:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stderr.close()


def test_tables_are_the_same_to_the_byte_for_any_number_of_threads(settings, plain, tmp_path):
    process = start(settings, tmp_path, 1, OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="1")
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert tables_in(tmp_path) == tables_in(plain.folder)


def test_a_killed_run_goes_on_where_it_was_to_the_same_numbers_with_other_jobs(settings, plain, tmp_path):
    kill_after(start(settings, tmp_path, 2), 3)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*.npz")}
    n_cells = len(list(cells_of(read_config(settings))))
    assert 3 <= len(kept) < n_cells
    assert not (tmp_path / "tables.txt").exists()
    told = []
    tr.reproduce(settings, tmp_path, progress=lambda *step: told.append(step))
    assert len(told) == 2 + n_cells - len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert tables_in(tmp_path) == tables_in(plain.folder)


def test_the_processes_of_a_killed_run_end_with_it(settings, tmp_path):
    slow = settings | {"booster": {**settings["booster"], "n_estimators": 20_000}}
    process = start(slow, tmp_path, 2)
    for line in process.stdout:
        if "models were there" in line:
            break
    workers = wait_for(lambda: (found := children(process.pid)) and len(found) >= 3 and found, 120)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stderr.close()
    assert wait_for(lambda: not any(map(is_running, workers)), 120)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if answer := condition():
            return answer
        time.sleep(0.05)
    return False


def test_a_finished_run_is_only_tabulated_again(settings, plain):
    before = tables_in(plain.folder)
    (plain.folder / "tables.txt").unlink()
    told = []
    again = tr.reproduce(settings, plain.folder, progress=lambda *step: told.append(step))
    assert len(told) == 2
    assert tables_in(plain.folder) == before
    assert str(again) == str(plain)


def test_a_damaged_cell_is_trained_again(settings, plain):
    before = tables_in(plain.folder)
    victim = next((plain.folder / "cells").glob("*robust*.npz"))
    victim.write_bytes(victim.read_bytes()[:100])
    told = []
    tr.reproduce(settings, plain.folder, progress=lambda _done, _total, what: told.append(what))
    assert told[-1] == victim.stem
    assert len(told) == 3
    assert tables_in(plain.folder) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sessions_per_list": 3}, r"another config.sessions_per_list: \d+ there, 3 now. Hint: name another folder"),
        ({"truncation_positions": [3, 9]}, r"another config\.\w+"),
        ({"booster": {"n_estimators": 9}}, r"another config.booster"),
    ],
)
def test_another_experiment_in_the_same_folder_is_refused(settings, plain, change, message):
    with pytest.raises(InputError, match=message):
        tr.reproduce(settings | change, plain.folder)


def test_changed_data_in_the_same_folder_are_refused(settings, tmp_path):
    files = {name: tmp_path / f"{name}.txt" for name in ("train", "test")}
    for name, path in files.items():
        shutil.copy(settings["dataset"][name], path)
    here = settings | {"dataset": {"name": "svmlight", **{name: str(path) for name, path in files.items()}}}
    here |= {"methods": ["clicks", "robust"], "truncation_positions": [3], "booster": {"n_estimators": 1}}
    tr.reproduce(here, tmp_path / "out")
    lines = files["train"].read_text().splitlines()
    lines[0] = ("2" if lines[0][0] == "3" else "3") + lines[0][1:]  # another grade
    files["train"].write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"another data: '\w+' there, '\w+' now"):
        tr.reproduce(here, tmp_path / "out")


def test_other_versions_are_refused(settings, plain, tmp_path):
    manifest = json.loads((plain.folder / "manifest.json").read_text())
    manifest["versions"]["lightgbm"] = "3.2"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"another versions.lightgbm: '3.2' there"):
        tr.reproduce(settings, tmp_path)


def test_a_folder_with_another_manifest_is_refused(settings, tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="is not the manifest of an experiment"):
        tr.reproduce(settings, tmp_path)


def test_a_missing_file_of_settings_is_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"there is no file .*nothing\.toml"):
        tr.reproduce(tmp_path / "nothing.toml", tmp_path)


def test_too_few_lists_to_test_on_are_refused_before_anything_is_trained(settings, tmp_path):
    (tmp_path / "test.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n")
    dataset = settings["dataset"] | {"test": f"{tmp_path}/test.txt"}
    with pytest.raises(InputError, match=r"1 of 2 lists to test on have a relevant item .* at least two"):
        tr.reproduce(settings | {"dataset": dataset}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_logs_too_large_for_lightgbms_own_correction_are_refused_before_anything_is_trained(
    settings, tmp_path, monkeypatch
):
    few = settings | {"methods": ["clicks", "lightgbm-position"], "truncation_positions": [3]}
    train, _ = load_logged(read_config(few))
    rows = settings["sessions_per_list"] * len(shown_lists(train, 3)[1])
    monkeypatch.setattr(lightgbm_peer, "_MOST_BYTES", 1.5 * rows * (train.X.shape[1] + 64))  # enough for one log
    with pytest.raises(ResourceError, match=rf"{2 * rows:,} rows of 6 features \(2 models at a time\) need"):
        tr.reproduce(few, tmp_path / "out", jobs=2)
    assert not (tmp_path / "out").exists()
    tr.reproduce(few, tmp_path / "out")
    tr.reproduce(few, tmp_path / "out", jobs=2)  # nothing is left to train


def test_models_of_one_seed_are_the_same_whatever_else_is_trained(settings, plain, finished):
    for cell, trained in plain.trained.items():
        assert trained.scores.tolist() == finished.trained[cell].scores.tolist()


def test_more_methods_and_seeds_are_added_to_what_is_there(settings, plain, tmp_path):
    shutil.copytree(plain.folder, tmp_path / "more")
    told = []
    more = settings | {"methods": ["ratio-0", "complete-shrunken"], "seeds": [5, 6]}
    both = tr.reproduce(more, tmp_path / "more", progress=lambda _done, _total, what: told.append(what))
    assert told[1] == "4 of 16 models were there"
    assert len(told) == 2 + 12
    for cell in set(both.trained) & set(plain.trained):
        assert both.trained[cell].scores.tolist() == plain.trained[cell].scores.tolist()


def test_values_of_several_seeds_are_averaged_list_by_list(settings, plain, tmp_path):
    few = settings | {"methods": ["clicks", "robust"], "truncation_positions": [3], "browsing": ["continuous"]}
    both = tr.reproduce(few | {"seeds": [5, 6]}, tmp_path / "both").comparisons["continuous"][3]
    one = [tr.reproduce(few | {"seeds": [s]}, tmp_path / f"{s}").comparisons["continuous"][3] for s in (5, 6)]
    title = METHODS["robust"].title
    for metric in both.metrics:
        wanted = (one[0].per_list(title, metric) + one[1].per_list(title, metric)) / 2
        assert both.per_list(title, metric) == pytest.approx(wanted, rel=1e-12)
    assert both.lists_used == one[0].lists_used
    assert both.per_list(title, "map").tolist() != one[0].per_list(title, "map").tolist()


def test_every_method_trains_a_model_of_its_own(finished):
    scores = {tuple(t.scores) for cell, t in finished.trained.items() if cell.truncation == 8}
    assert len(scores) == 2 * 7 + 1
    assert all(len(set(values)) > 20 for values in scores)


def test_tables_have_the_papers_form(finished):
    text, latex = finished.tables(), finished.tables("latex")
    assert text.startswith("Table 1. Examination: continuous\n")
    assert "Table 2. Examination: independent" in text
    tests = 2 * 2 * 7 * 5
    assert f"Bonferroni over {tests} comparisons" in text
    first = text.splitlines()[2:]
    assert first[0].split() == ["Trunc.", "pos.", "Model", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP"]
    assert first[1].split()[:4] == ["3", "Unbiased", "LambdaMART", "(no"]
    assert "[ ] Robust Unbiased LambdaMART against Unbiased LambdaMART (L2-regularisation): p < 0.05" in " ".join(
        text.split()
    )
    assert r"\multirow{8}{*}{3} & Unbiased LambdaMART (no regularisation) & 0." in latex
    assert latex.count(r"\begin{tabular}{llccccc}") == 2
    assert finished.tables("markdown").count("| Trunc. pos. |") == 2
    assert finished.tables("html").count("<table") == 2
    assert {row["truncation"] for row in finished.to_rows()} == {3, 8}
    with pytest.raises(InputError, match="form is 'word'"):
        finished.tables("word")


def test_a_run_goes_on_when_its_data_have_moved(settings, plain, tmp_path):
    shutil.copytree(os.path.dirname(settings["dataset"]["train"]), tmp_path / "moved")
    moved = {"name": "svmlight", **{name: f"{tmp_path}/moved/{name}.txt" for name in ("train", "test")}}
    told = []
    tr.reproduce(settings | {"dataset": moved}, plain.folder, progress=lambda *step: told.append(step))
    assert len(told) == 2  # nothing was trained
