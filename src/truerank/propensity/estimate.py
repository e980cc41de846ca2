"""What an estimator hands out: how people look, how sure that is, and how it was found."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from truerank.atomic import replace_whole
from truerank.errors import FileFormatError, InputError
from truerank.examination import ExaminationModel
from truerank.examination.files import examination_from_dict, read_document
from truerank.types import BoolArray, FloatArray, IntArray

FORMAT = "truerank.propensity"
FORMAT_VERSION = 1
_MOST_PAIRS = 60


@dataclass(frozen=True, eq=False)
class PropensityEstimate:
    """θ at positions 1, 2, 3, … with errors, and an examination model to train with.

    `theta` is what the log says, as it says it; positions it does not tell are NaN. `examination` is what training
    uses: θ capped at 1, and filled or smoothed if that was asked for. `notes` say where the two differ, and what else
    should be known.

    Errors live on the log scale, where the estimates are nearest to normal: `log_covariance` is that of log θ. An
    interval is θ exp(± z s) with s the error of log θ, so the interval of 1/θ is the mirror image of that of θ and
    covers exactly when it does. Standard errors are the delta method's: θ s for θ and s / θ for 1/θ.

    `errors` says what s rests on, `normalization` what θ is relative to, `parameters` holds those of a parametric model
    with their standard errors, `details` what else the estimator found. Where pairs of positions were measured too,
    `psi` is their table as the log says it (NaN for other pairs) and `psi_log_errors` the standard error of log ψ.
    """

    method: str
    errors: str
    theta: FloatArray
    log_covariance: FloatArray
    examination: ExaminationModel
    normalization: str = "θ_1 = 1: all θ are relative to position 1"
    psi: FloatArray | None = None
    psi_log_errors: FloatArray | None = None
    parameters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def positions(self) -> IntArray:
        """1, 2, 3, …: what the entries of `theta` belong to."""
        return np.arange(1, len(self.theta) + 1)

    @property
    def measured(self) -> BoolArray:
        """Which positions the log tells about."""
        return np.isfinite(self.theta)

    @property
    def log_standard_errors(self) -> FloatArray:
        """The standard error of log θ: the relative error of θ, and of 1/θ."""
        errors: FloatArray = np.sqrt(np.diagonal(self.log_covariance))
        return errors

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of θ."""
        return self.theta * self.log_standard_errors

    @property
    def inverse_standard_errors(self) -> FloatArray:
        """The standard error of 1/θ, which is what training uses."""
        return self.log_standard_errors / self.theta

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The ends of intervals that cover θ with chance `level`, position by position."""
        return log_interval(self.theta, self.log_standard_errors, level)

    def inverse_interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The ends of intervals that cover 1/θ with chance `level`, position by position."""
        low, high = self.interval(level)
        return 1 / high, 1 / low

    def psi_interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The ends of intervals that cover ψ with chance `level`, pair by pair; those of 1/ψ are their inverses."""
        psi, errors = self._measured_pairs()
        return log_interval(psi, errors, level)

    def summary(self, level: float = 0.95) -> str:
        """A table for people: θ and 1/θ with their intervals, and what should be known."""
        low, high = self.interval(level)
        lines = [
            f"{self.method}: {self.normalization}; {level:.0%} intervals, {self.errors}",
            f"{'position':>8}  {'θ':>7}  {'interval':>17}  {'1/θ':>7}  {'interval':>17}",
        ]
        for k in range(len(self.theta)):
            if not self.measured[k]:
                filled = float(self.examination.marginal(k + 1))
                lines.append(f"{k + 1:>8}  {'-':>7}  {'not measured':>17}  (training uses θ = {filled:.4f})")
                continue
            lines.append(
                f"{k + 1:>8}  {self.theta[k]:>7.4f}  {low[k]:>7.4f} – {high[k]:<7.4f}  "
                f"{1 / self.theta[k]:>7.3f}  {1 / high[k]:>7.3f} – {1 / low[k]:<7.3f}"
            )
        if self.psi is not None:
            lines += self._pair_lines(level)
        lines += [f"{name} = {value:.4f} ± {error:.4f}" for name, (value, error) in self.parameters.items()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(line.rstrip() for line in lines)

    def _measured_pairs(self) -> tuple[FloatArray, FloatArray]:
        if self.psi is None or self.psi_log_errors is None:
            raise InputError(f"{self.method} does not measure pairs of positions: psi is None")
        return self.psi, self.psi_log_errors

    def _pair_lines(self, level: float) -> list[str]:
        psi, _ = self._measured_pairs()
        low, high = self.psi_interval(level)
        pairs = np.argwhere(np.triu(np.isfinite(psi), 1))
        lines = [
            f"{f'{i + 1}, {j + 1}':>8}  {psi[i, j]:>7.4f}  {low[i, j]:>7.4f} – {high[i, j]:<7.4f}"
            for i, j in pairs[:_MOST_PAIRS]
        ]
        more = [f"… and {len(pairs) - _MOST_PAIRS} more pairs"] if len(pairs) > _MOST_PAIRS else []
        return [f"{'pair':>8}  {'ψ':>7}  {'interval':>17}", *lines, *more]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it as readable JSON. `truerank.load_examination` reads the examination model back out of it."""
        write_document(self.to_dict(), path)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, lists and text: what `save` writes."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "method": self.method,
            "errors": self.errors,
            "normalization": self.normalization,
            "theta": numbers(self.theta),
            "standard_errors": numbers(self.standard_errors),
            "psi": numbers(self.psi),
            "psi_log_errors": numbers(self.psi_log_errors),
            "parameters": {name: list(both) for name, both in self.parameters.items()},
            "notes": list(self.notes),
            "details": {name: numbers(value) for name, value in self.details.items()},
            "log_covariance": numbers(self.log_covariance),
            "examination": self.examination.to_dict(),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PropensityEstimate:
        """Read what `save` wrote."""
        return cls.from_dict(read_header(path, FORMAT), path)

    @classmethod
    def from_dict(cls, document: dict[str, Any], path: str | os.PathLike[str]) -> PropensityEstimate:
        """The estimate that `to_dict` wrote down; `path` is where it was found, for the messages."""
        try:
            return cls(
                method=document["method"],
                errors=document["errors"],
                theta=_array(document["theta"]),
                log_covariance=_array(document["log_covariance"]),
                examination=examination_from_dict(document["examination"], path),
                normalization=document["normalization"],
                psi=_array_or_none(document["psi"]),
                psi_log_errors=_array_or_none(document["psi_log_errors"]),
                parameters={name: (both[0], both[1]) for name, both in document["parameters"].items()},
                notes=tuple(document["notes"]),
                details=document["details"],
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FileFormatError(f"{path} cannot be used: {error!r}") from error


def load_estimate(path: str | os.PathLike[str]) -> PropensityEstimate | ExaminationModel:
    """Read an estimate with its errors, or a model that was saved alone."""
    document = read_document(Path(path))
    if document.get("format") == FORMAT:
        return PropensityEstimate.from_dict(read_header(path, FORMAT), path)
    return examination_from_dict(document, path)


def log_interval(values: FloatArray, log_errors: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """values · exp(± z s), z the normal quantile of the level."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    factor = np.exp(NormalDist().inv_cdf((1 + level) / 2) * log_errors)
    return values / factor, values * factor


def write_document(document: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write JSON whole or not at all."""
    with replace_whole(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n", "utf-8")


def read_header(path: str | os.PathLike[str], wanted: str) -> dict[str, Any]:
    """The object in a JSON file, refused unless it is of the wanted format and a version known here."""
    document = read_document(Path(path))
    if document.get("format") != wanted or document.get("version") != FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has format {document.get('format')!r}, version {document.get('version')!r}; "
            f"this reads {wanted!r}, version {FORMAT_VERSION}"
        )
    return document


def numbers(value: Any) -> Any:
    """Arrays as lists, with null for what is not a number."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [numbers(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _array(values: Any) -> FloatArray:
    """The array that `numbers` wrote down."""
    return np.array(values, dtype=np.float64)


def _array_or_none(values: Any) -> FloatArray | None:
    return None if values is None else _array(values)
