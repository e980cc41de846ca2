"""Reading examination models back from their JSON files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from truerank.errors import FileFormatError
from truerank.examination.base import FORMAT, FORMAT_VERSION, ExaminationModel
from truerank.examination.continuous import Continuous
from truerank.examination.independent import Independent
from truerank.examination.row_skipping import RowSkipping
from truerank.examination.tabulated import Tabulated

MODELS: dict[str, type[ExaminationModel]] = {
    model.kind: model for model in (Independent, Continuous, RowSkipping, Tabulated)
}


def load_examination(path: str | os.PathLike[str]) -> ExaminationModel:
    """Read an examination model that `save` wrote, its own or that of a propensity estimate."""
    document = read_document(Path(path))
    inner = document.get("examination")
    return examination_from_dict(inner if isinstance(inner, dict) else document, path)


def examination_from_dict(document: dict[str, Any], path: str | os.PathLike[str]) -> ExaminationModel:
    """The model that `to_dict` wrote down; `path` is where it was found, for the messages."""
    document = dict(document)
    if document.pop("format", None) != FORMAT:
        raise FileFormatError(f'{path} is not an examination model: it lacks "format": "{FORMAT}"')
    version = document.pop("version", None)
    if version != FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has version {version}; this truerank reads version {FORMAT_VERSION}. Hint: upgrade truerank"
        )
    kind = document.pop("model", None)
    if not isinstance(kind, str) or kind not in MODELS:
        raise FileFormatError(f"{path} holds a model named {kind!r}; known are {', '.join(sorted(MODELS))}")
    try:
        return MODELS[kind](**document)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be used: {error}") from error


def read_document(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise FileFormatError(f"{path} holds a {type(document).__name__}, not an examination model")
    return document
