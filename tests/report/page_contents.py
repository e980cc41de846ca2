"""What tests read out of a page."""

from __future__ import annotations

import json
import re


def chart_specs(text):
    """The charts of a page, by name."""
    (found,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', text, flags=re.DOTALL)
    return json.loads(found)


def _luminance(colour):
    channels = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """The contrast of two colours as WCAG 2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)
