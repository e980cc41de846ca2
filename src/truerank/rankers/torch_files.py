"""A neural ranker in one file: what it is as readable JSON, its numbers as PyTorch's tensors, nothing that is run."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from truerank.atomic import replace_whole
from truerank.errors import FileFormatError, InputError
from truerank.examination.base import ExaminationModel
from truerank.examination.files import examination_from_dict
from truerank.rankers.torch_network import Inputs, ScoringNetwork, build_body

if TYPE_CHECKING:
    from truerank.rankers.torch import NeuralRanker

Ranker = TypeVar("Ranker", bound="NeuralRanker")
FORMAT, VERSION = "truerank.neural_ranker", 1
_DOCUMENT, _TENSORS = "ranker.json", "weights.pt"
_FITTED = ("n_features_in_", "epochs_", "best_iteration_", "best_score_", "evals_result_")


def save_ranker(ranker: NeuralRanker, path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker."""
    parameters = ranker.get_params()
    plain = {name: _plain(value) for name, value in parameters.items()}
    names = getattr(ranker, "feature_names_in_", None)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": {name: value for name, value in plain.items() if value is not _UNWRITABLE},
        "not_in_this_file": sorted(name for name, value in plain.items() if value is _UNWRITABLE),
        "feature_names": None if names is None else names.tolist(),
        "fitted": {name: getattr(ranker, name) for name in _FITTED},
        "network": str(ranker.network_).splitlines(),
    }
    tensors = {"network": _on_cpu(ranker.network_.state_dict()), "optimizer": _on_cpu(ranker.optimizer_state_)}
    written = io.BytesIO()
    torch.save(tensors, written)
    with replace_whole(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        file.writestr(_DOCUMENT, json.dumps(document, indent=1) + "\n")
        file.writestr(_TENSORS, written.getvalue())


def load_ranker(kind: type[Ranker], path: str | os.PathLike[str], given: dict[str, Any]) -> Ranker:
    """Read a fitted ranker; `given` stands in for parameters of the file."""
    document, tensors = _read(path)
    missing = [name for name in document["not_in_this_file"] if given.get(name) is None]
    if missing:
        raise InputError(
            f"{path} was saved by a ranker whose {', '.join(missing)} no file can hold. "
            f"Hint: NeuralRanker.load(path, {', '.join(f'{name}=…' for name in missing)})"
        )
    saved = document["parameters"]
    if isinstance(saved.get("examination"), dict):
        saved["examination"] = examination_from_dict(saved["examination"], path)
    saved["hidden"] = tuple(saved["hidden"])
    ranker = kind(**saved | {name: value for name, value in given.items() if value is not None})
    for name, value in document["fitted"].items():
        setattr(ranker, name, value)
    if document["feature_names"] is not None:
        ranker.feature_names_in_ = np.asarray(document["feature_names"], dtype=object)
    ranker.network_ = _network(ranker, tensors["network"], path).to(ranker.device)
    ranker.optimizer_state_ = tensors["optimizer"]
    return ranker


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as file:
            document = json.loads(file.read(_DOCUMENT))
            if document.get("format") != FORMAT or document.get("version") != VERSION:
                raise FileFormatError(
                    f"{path} holds {document.get('format')!r}, version {document.get('version')!r}; this truerank "
                    f"reads {FORMAT!r}, version {VERSION}. Hint: upgrade truerank"
                )
            tensors = torch.load(io.BytesIO(file.read(_TENSORS)), map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError, pickle.UnpicklingError) as error:
        raise FileFormatError(f"{path} is not a ranker that NeuralRanker.save wrote: {error}") from None
    return document, tensors


def _network(ranker: NeuralRanker, state: dict[str, Tensor], path: Any) -> ScoringNetwork:
    """The network of the parameters, filled with the tensors of the file."""
    tables = {name.removeprefix("inputs."): table for name, table in state.items() if name.startswith("inputs.")}
    inputs = Inputs(ranker.normalization, tables)
    body = build_body(ranker.module, inputs.n_outputs, ranker.hidden, ranker.dropout)
    network = ScoringNetwork(inputs, body)
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise InputError(f"the weights in {path} do not fit the network of these parameters: {error}") from None
    network.eval()
    return network


_UNWRITABLE = object()


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it, or a mark that it does not."""
    if isinstance(value, ExaminationModel):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else _UNWRITABLE


def _on_cpu(state: Any) -> Any:
    if isinstance(state, Tensor):
        return state.detach().cpu()
    if isinstance(state, dict):
        return {key: _on_cpu(value) for key, value in state.items()}
    return state
