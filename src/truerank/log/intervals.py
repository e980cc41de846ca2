"""How sure a share is, given how often it was counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truerank.types import FloatArray

Z95 = 1.959963984540054
"""The standard normal leaves 2.5 % above this."""


def wilson_interval(hits: npt.ArrayLike, trials: npt.ArrayLike, z: float = Z95) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval of a share: (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n), with p = hits / n.

    Wilson (1927), Probable inference, the law of succession, and statistical inference. It stays inside [0, 1] and
    has a width even where nothing or everything was hit; without trials it is [0, 1].

    >>> low, high = wilson_interval([0, 5], [10, 10])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.237], [0.278, 0.763])
    """
    n = np.asarray(trials, dtype=np.float64)
    safe = np.maximum(n, 1.0)
    p = np.asarray(hits, dtype=np.float64) / safe
    middle = (p + z * z / (2 * safe)) / (1 + z * z / safe)
    half = z * np.sqrt(p * (1 - p) / safe + (z / (2 * safe)) ** 2) / (1 + z * z / safe)
    seen = n > 0
    return np.where(seen, np.clip(middle - half, 0, 1), 0.0), np.where(seen, np.clip(middle + half, 0, 1), 1.0)
