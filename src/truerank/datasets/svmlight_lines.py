"""One line of svmlight text, read slowly: what the format is, and what is wrong with a line that is not in it.

    line     label qid:query id:value id:value … # comment
    label    a whole number from 0 to 1000; 2.0 will do
    query    a whole number from 0
    id       a whole number from 0; ids rise along the line, and features that are 0 may be left out
    value    a decimal number; nan or NULL for a missing one; what is beyond the largest float32 (3.4e38, as the
             1.797e308 of Istella), inf included, becomes that

Spaces, tabs, carriage returns and no-break spaces (Latin-1) separate. Lines that are empty, or only a comment, are no
rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truerank.errors import FileFormatError
from truerank.types import IntArray

LARGEST_LABEL = 1_000
LARGEST_ID = np.iinfo(np.int32).max - 1
LARGEST_QUERY = np.iinfo(np.int64).max

_SPACE = re.compile("[ \t\r\v\f\xa0]+")
_WHOLE = re.compile("[0-9]+")
_WHOLE_LABEL = re.compile("[0-9]+([.]0*)?")
_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_MISSING = {"nan", "null"}
_INFINITE = {sign + word for sign in ("", "+", "-") for word in ("inf", "infinity")}
_LARGEST = float(np.finfo(np.float32).max)
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Row:
    """What one line says; label and query are 0 if its lines begin with the id of an item instead."""

    label: int
    query: int
    features: IntArray
    values: npt.NDArray[np.float32]


def parse_line(line: str, judged: bool = True) -> Row:
    """Read one line, or say what is wrong with it.

    Args:
        line: the text, without the end of the line.
        judged: whether the line begins with a label and a qid, or (`.feature` files) with the id of an item.
    """
    words = [word for word in _SPACE.split(line.split("#", 1)[0]) if word]
    label, query = _read_head(words) if judged else (0, 0)
    features: list[int] = []
    values: list[float] = []
    for word in words[2 if judged else 1 :]:
        feature, colon, value = word.partition(":")
        if not colon or not _WHOLE.fullmatch(feature):
            raise FileFormatError(f"a feature reads {shown(word)}; it must be id:value, the id a whole number")
        features.append(int(feature))
        values.append(_read_value(word, value))
        if features[-1] > LARGEST_ID:
            raise FileFormatError(f"feature id {shown(feature)} is above {LARGEST_ID}")
        if len(features) > 1 and features[-1] <= features[-2]:
            raise FileFormatError(
                f"feature {shown(word)} comes after feature {features[-2]}; ids must rise along the line, each once"
            )
    return Row(label, query, np.array(features, dtype=np.int64), np.array(values, dtype=np.float32))


def _read_head(words: list[str]) -> tuple[int, int]:
    if not words:
        raise FileFormatError("the line is empty")
    if not _WHOLE_LABEL.fullmatch(words[0]) or float(words[0]) > LARGEST_LABEL:
        raise FileFormatError(
            f"the line begins with {shown(words[0])}; it must begin with a label, a whole number from 0 to "
            f"{LARGEST_LABEL}"
        )
    if len(words) < 2 or not words[1].startswith("qid:"):
        found = f"{shown(words[1])} comes after the label" if len(words) > 1 else "nothing comes after the label"
        raise FileFormatError(f"{found}; it must be qid:number. Hint: rows without queries cannot be ranked")
    query = words[1].removeprefix("qid:")
    if not _WHOLE.fullmatch(query) or int(query) > LARGEST_QUERY:
        raise FileFormatError(f"the query is {shown(words[1])}; it must be qid:number, a whole number from 0")
    return int(float(words[0])), int(query)


def _read_value(word: str, value: str) -> float:
    if value.lower() in _MISSING:
        return float("nan")
    if not _NUMBER.fullmatch(value) and value.lower() not in _INFINITE:
        raise FileFormatError(f"feature {shown(word)} has a value that is not a number")
    return min(max(float(value), -_LARGEST), _LARGEST)


def shown(text: str) -> str:
    """The text as an error message shows it."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
