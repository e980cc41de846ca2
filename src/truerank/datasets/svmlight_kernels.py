"""Compiled reading of svmlight text: bytes to numbers, line by line.

A line that is out of the ordinary is left to `svmlight_lines`, which either reads it or says what is wrong with it.
What is read here must be what is read there, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

_NEWLINE, _COMMENT, _COLON, _POINT, _PLUS, _MINUS, _ZERO = (ord(sign) for sign in "\n#:.+-0")
_SPACE = np.isin(np.arange(256), np.frombuffer(b" \t\r\v\f\xa0", dtype=np.uint8))
_END = _SPACE | np.isin(np.arange(256), [_NEWLINE, _COMMENT])

_SIGNIFICANT = 18  # digits that an int64 always holds
_EXACT = 2**53  # whole numbers up to here, and powers of ten up to 22, are exact in float64
_EXACT_POWER = 22
_LARGEST_POWER = 308
_POWERS = np.array([float(f"1e{power}") for power in range(-_LARGEST_POWER, _LARGEST_POWER + 1)])
_UNSURE = 2.0**-50  # no less than the relative error of digits × power
_LARGEST = float(np.finfo(np.float32).max)

ODD = -1


@compiled(parallel=True)
def hold_a_row(text: Any, starts: Any, found_out: Any) -> None:
    """Whether each line has anything before its end or its comment."""
    for k in prange(len(starts)):
        at = _skip_space(text, starts[k])
        found_out[k] = text[at] != _NEWLINE and text[at] != _COMMENT


@compiled(parallel=True)
def count_entries(text: Any, starts: Any, judged: bool, count_out: Any, lowest_out: Any, highest_out: Any) -> None:
    """How many features each row names, or ODD, and the lowest and highest id among them (0 and -1 without any).

    Values are only skipped. `judged` tells rows that begin with a label and a qid from rows that begin with an id.
    """
    for k in prange(len(starts)):
        count, lowest, highest = 0, 0, -1
        at = _skip_head(text, starts[k], judged)
        while at >= 0:
            at = _skip_space(text, at)
            if text[at] == _NEWLINE or text[at] == _COMMENT:
                break
            feature, at = _whole_number(text, at, 9)
            if at < 0 or text[at] != _COLON or feature <= highest:
                at = ODD
                break
            at += 1
            while not _END[text[at]]:
                at += 1
            if count == 0:
                lowest = feature
            highest = feature
            count += 1
        count_out[k] = count if at >= 0 else ODD
        lowest_out[k] = lowest
        highest_out[k] = highest


@compiled(parallel=True)
def fill_rows(
    text: Any,
    starts: Any,
    judged: bool,
    dense: bool,
    first_feature: int,
    n_features: int,
    offsets: Any,
    labels_out: Any,
    queries_out: Any,
    indices_out: Any,
    values_out: Any,
    filled_out: Any,
) -> None:
    """Write label, query and features of each row; `filled_out` is False where a row is odd, or has no room.

    The values of row k go to `offsets[k]:offsets[k + 1]` of `values_out`: to the place of their feature if `dense`,
    otherwise one after another, with the places in `indices_out`.
    """
    for k in prange(len(starts)):
        label, query, at = np.int64(0), np.int64(0), starts[k]
        if judged:
            label, query, at = _label_and_query(text, at)
            if at >= 0:
                labels_out[k] = label
                queries_out[k] = query
        else:
            at = _skip_head(text, at, False)
        count, highest = 0, -1
        while at >= 0:
            at = _skip_space(text, at)
            if text[at] == _NEWLINE or text[at] == _COMMENT:
                break
            feature, at = _whole_number(text, at, 9)
            if at < 0 or text[at] != _COLON or feature <= highest:
                at = ODD
                break
            highest = feature
            value, at = _number(text, at + 1)
            place = feature - first_feature
            slot = offsets[k] + (place if dense else count)
            if at < 0 or place < 0 or place >= n_features or slot >= offsets[k + 1]:
                at = ODD
                break
            values_out[slot] = value
            if not dense:
                indices_out[slot] = place
            count += 1
        filled_out[k] = at >= 0 and (dense or count == offsets[k + 1] - offsets[k])


@compiled(inline="always")
def _skip_space(text: Any, at: int) -> Any:
    while _SPACE[text[at]]:
        at += 1
    return at


@compiled()
def _skip_head(text: Any, at: int, judged: bool) -> Any:
    """Where the features begin, or ODD: after label and qid, or after the id of the item."""
    if judged:
        _, _, at = _label_and_query(text, at)
        return at
    at = _skip_space(text, at)
    while not _END[text[at]]:
        at += 1
    return at


@compiled()
def _label_and_query(text: Any, at: int) -> Any:
    """Label, query id, and where they end (or ODD)."""
    label, at = _whole_number(text, _skip_space(text, at), 3)
    if at >= 0 and text[at] == _POINT:
        at += 1
        while text[at] == _ZERO:
            at += 1
    if at < 0 or not _SPACE[text[at]]:
        return label, label, ODD
    at = _skip_space(text, at)
    for sign in (113, 105, 100, 58):  # qid:
        if text[at] != sign:
            return label, label, ODD
        at += 1
    query, at = _whole_number(text, at, _SIGNIFICANT)
    return label, query, at if at >= 0 and _END[text[at]] else ODD


@compiled(inline="always")
def _whole_number(text: Any, at: int, most_digits: int) -> Any:
    """A number of one to `most_digits` digits and where it ends, or ODD."""
    number, first = np.int64(0), at
    while True:
        digit = np.int64(text[at]) - _ZERO
        if digit < 0 or digit > 9 or at - first > most_digits:
            break
        number = 10 * number + digit
        at += 1
    return number, at if 0 < at - first <= most_digits else ODD


@compiled(inline="always")
def _number(text: Any, at: Any) -> Any:
    """A decimal number as `float32(float(…))` reads it, kept within ±`_LARGEST`, and where it ends, or ODD.

    Up to 2⁵³ × 10^±22 one exact multiplication or division gives the nearest float64 (Clinger 1990). Otherwise the
    product of digits and power is off by a few units in the last place; rounded to float32, both ends of that interval
    are almost always the same number, which then is the answer. Where they are not, the line is odd.
    """
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    digits, power = np.int64(0), np.int64(0)
    significant, seen, after_point = 0, 0, False
    while True:
        digit = np.int64(text[at]) - _ZERO
        if 0 <= digit <= 9:
            seen += 1
            if significant < _SIGNIFICANT:
                digits = 10 * digits + digit
                power -= after_point
                significant += int(digits > 0)
            else:
                power += not after_point
        elif text[at] == _POINT and not after_point:
            after_point = True
        else:
            break
        at += 1
    if text[at] | 32 == 101:  # e or E
        at += 1
        down = text[at] == _MINUS
        if down or text[at] == _PLUS:
            at += 1
        exponent, at = _whole_number(text, at, 6)
        power = power - exponent if down else power + exponent
    if at < 0 or seen == 0 or not _END[text[at]]:
        return np.float32(0), ODD
    low, high = _interval(digits, power)
    if low != high:
        return np.float32(0), ODD
    return -low if negative else low, at


@compiled(inline="always")
def _interval(digits: int, power: int) -> Any:
    """Two float32 between which digits · 10^power lies, the same one if that is sure."""
    if digits == 0 or power < -300:  # fewer than 19 digits: far below the smallest float32
        return np.float32(0), np.float32(0)
    if power > 300:
        return np.float32(_LARGEST), np.float32(_LARGEST)
    if digits <= _EXACT and -_EXACT_POWER <= power <= _EXACT_POWER:
        value = float(digits)
        value = value * _POWERS[_LARGEST_POWER + power] if power >= 0 else value / _POWERS[_LARGEST_POWER - power]
        return np.float32(value), np.float32(value)
    value = min(float(digits) * _POWERS[_LARGEST_POWER + power], 2 * _LARGEST)
    low, high = value * (1 - _UNSURE), value * (1 + _UNSURE)
    return np.float32(min(low, _LARGEST)), np.float32(min(high, _LARGEST))
