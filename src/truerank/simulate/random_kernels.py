"""Random numbers with an address: the same draw for the same seed, list and session, whoever asks and when.

Philox4x64-10 (Salmon et al. 2011), bit for bit NumPy's: the draws of session s of list q are those of
`numpy.random.Generator(numpy.random.Philox(seed, counter=[0, s, q, 0])).random()`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.compiled_kernels import compiled

_MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
_KEY_STEPS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B))
_ROUNDS = 10
_LOW_HALF, _HALF, _SPARE_BITS = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(11)
_ONE, _FOUR = np.uint64(1), np.uint64(4)
_DRAWN, _BLOCK, _SESSION, _LIST = 4, 5, 6, 7


def key_of(seed: Any) -> npt.NDArray[np.uint64]:
    """The two words that `numpy.random.Philox(seed)` makes of a seed."""
    return np.random.SeedSequence(seed).generate_state(2, np.uint64).astype(np.uint64)


@compiled()
def new_stream() -> Any:
    """Room for a stream of draws: four random words, how many of them are used, and the address."""
    return np.empty(8, dtype=np.uint64)


@compiled()
def seek(stream_out: Any, list_number: int, session: int) -> None:
    """Go to the first draw of a session."""
    stream_out[_DRAWN] = _FOUR
    stream_out[_BLOCK] = np.uint64(0)
    stream_out[_SESSION] = np.uint64(session)
    stream_out[_LIST] = np.uint64(list_number)


@compiled()
def uniform(key: Any, stream: Any) -> Any:
    """The next draw, uniform in [0, 1)."""
    if stream[_DRAWN] == _FOUR:
        stream[_BLOCK] += _ONE
        stream[_DRAWN] = np.uint64(0)
        _fill(key[0], key[1], stream)
    word = stream[stream[_DRAWN]]
    stream[_DRAWN] += _ONE
    return np.float64(word >> _SPARE_BITS) * 2.0**-53


@compiled()
def happens(key: Any, stream: Any, chance: float) -> Any:
    """Whether something of this chance happens; certainties cost no draw."""
    if chance >= 1:
        return True
    return chance > 0 and uniform(key, stream) < chance


@compiled()
def _fill(key_0: Any, key_1: Any, stream: Any) -> None:
    a, b, c, d = stream[_BLOCK], stream[_SESSION], stream[_LIST], np.uint64(0)
    for _ in range(_ROUNDS):
        high_a, low_a = _high_product(_MULTIPLIERS[0], a), _MULTIPLIERS[0] * a
        high_c, low_c = _high_product(_MULTIPLIERS[1], c), _MULTIPLIERS[1] * c
        a, b, c, d = high_c ^ b ^ key_0, low_c, high_a ^ d ^ key_1, low_a
        key_0 += _KEY_STEPS[0]
        key_1 += _KEY_STEPS[1]
    stream[0], stream[1], stream[2], stream[3] = a, b, c, d


@compiled()
def _high_product(a: Any, b: Any) -> Any:
    """The upper 64 bits of the product of two 64-bit numbers."""
    low_a, high_a, low_b, high_b = a & _LOW_HALF, a >> _HALF, b & _LOW_HALF, b >> _HALF
    middle = high_a * low_b + ((low_a * low_b) >> _HALF)
    return high_a * high_b + (middle >> _HALF) + ((low_a * high_b + (middle & _LOW_HALF)) >> _HALF)
