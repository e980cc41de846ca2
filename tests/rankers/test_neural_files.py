"""Neural rankers on disk: one file, readable, whole, without pickles; and what is said where PyTorch is missing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from generated import EXAMINATION

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

import truerank as tr  # noqa: E402
import truerank.torch as trt  # noqa: E402
from truerank.errors import FileFormatError, InputError  # noqa: E402

NAMES = [f"f{k}" for k in range(6)]


class SeenByEverybody:
    """A user's own examination."""

    def marginal(self, positions):
        return np.ones(np.shape(positions))

    def joint(self, positions_i, positions_j):
        return np.ones(np.broadcast_shapes(np.shape(positions_i), np.shape(positions_j)))

    def sample(self, n_sessions, n_positions, rng):
        return np.ones((n_sessions, n_positions), dtype=bool)


class Exponential(trt.PairFunction):
    def l10(self, s_i, s_j):
        return torch.exp(s_j - s_i)


def fit(shop, **options):
    X = pd.DataFrame(np.where(shop.rows > 2, np.nan, shop.rows), columns=NAMES)
    model = tr.NeuralRanker(**{"examination": EXAMINATION, "epochs": 2, "hidden": (8,), **options})
    return model.fit(X, shop.clicks, **shop.log), X


@pytest.mark.parametrize("options", [{}, {"normalization": "standard", "hidden": ()}, {"method": "robust"}])
def test_what_is_saved_is_loaded(shop, tmp_path, options):
    model, X = fit(shop, **options)
    model.save(tmp_path / "ranker.zip")
    again = tr.NeuralRanker.load(tmp_path / "ranker.zip")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.feature_names_in_.tolist() == NAMES
    assert again.evals_result_ == model.evals_result_
    assert [path.name for path in tmp_path.iterdir()] == ["ranker.zip"]


def test_the_file_is_readable_and_holds_no_pickle_of_ours(shop, tmp_path):
    model, _ = fit(shop)
    model.save(tmp_path / "ranker.zip")
    with zipfile.ZipFile(tmp_path / "ranker.zip") as file:
        document = json.loads(file.read("ranker.json"))
        tensors = torch.load(io.BytesIO(file.read("weights.pt")), weights_only=True)
    assert document["parameters"]["hidden"] == [8]
    assert document["parameters"]["examination"]["model"] == "continuous"
    assert document["feature_names"] == NAMES
    assert tensors["network"].keys() == model.network_.state_dict().keys()


def test_saved_weights_serve_without_truerank_s_estimator(shop, tmp_path):
    model, X = fit(shop, normalization="standard", hidden=())
    model.save(tmp_path / "ranker.zip")
    with zipfile.ZipFile(tmp_path / "ranker.zip") as file:
        state = torch.load(io.BytesIO(file.read("weights.pt")), weights_only=True)["network"]
    gone = X.isna().to_numpy()
    scaled = np.where(gone, 0, (X.to_numpy() - state["inputs.center"].numpy()) * state["inputs.scale"].numpy())
    features = np.column_stack([scaled, gone[:, state["inputs.missing"].numpy()]])
    np.testing.assert_allclose(features @ state["body.0.weight"][0].numpy(), model.predict(X), atol=1e-5)


def test_what_no_file_can_hold_has_to_be_given_again(shop, tmp_path):
    own = {
        "examination": SeenByEverybody(),
        "pair": Exponential(),
        "module": torch.nn.Sequential(torch.nn.Linear(12, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)),
    }
    model, X = fit(shop, **own)
    model.save(tmp_path / "ranker.zip")
    with pytest.raises(InputError, match=r"whose examination, module, pair no file can hold. Hint: .*module=…"):
        tr.NeuralRanker.load(tmp_path / "ranker.zip")
    again = tr.NeuralRanker.load(tmp_path / "ranker.zip", **own)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(InputError, match="do not fit the network of these parameters"):
        tr.NeuralRanker.load(tmp_path / "ranker.zip", **own | {"module": torch.nn.Linear(12, 1)})


def test_a_file_that_cannot_be_written_leaves_the_one_before(shop, tmp_path, monkeypatch):
    model, X = fit(shop)
    model.save(tmp_path / "ranker.zip")
    expected = model.predict(X)
    model.evals_result_ = {"training": {"loss": [object()]}}
    with pytest.raises(TypeError):
        model.save(tmp_path / "ranker.zip")
    np.testing.assert_array_equal(tr.NeuralRanker.load(tmp_path / "ranker.zip").predict(X), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["ranker.zip"]


def test_files_that_are_something_else_are_refused(tmp_path):
    text, archive, later = (tmp_path / name for name in ("text", "archive", "later"))
    text.write_text("not a zip file")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("other", "")
    with zipfile.ZipFile(later, "w") as file:
        file.writestr("ranker.json", json.dumps({"format": "truerank.neural_ranker", "version": 99}))
    for path in (text, archive):
        with pytest.raises(FileFormatError, match=r"is not a ranker that NeuralRanker.save wrote"):
            tr.NeuralRanker.load(path)
    with pytest.raises(FileFormatError, match=r"version 99; this truerank reads .* Hint: upgrade truerank"):
        tr.NeuralRanker.load(later)


WITHOUT_TORCH = """
import sys

class WithoutTorch:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, WithoutTorch())
import truerank
for use in (lambda: truerank.NeuralRanker, lambda: __import__("truerank.torch")):
    try:
        use()
    except ImportError as error:
        print(error)
truerank.LambdaMARTRanker
"""


def test_without_pytorch_the_message_says_how_to_get_it():
    answer = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["torch is not installed. Hint: pip install 'truerank[torch]'"] * 2
