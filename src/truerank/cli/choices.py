"""What options with a fixed set of answers may be."""

from __future__ import annotations

from typing import Literal

Browsing = Literal["continuous", "independent"]
Method = Literal["robust", "complete", "ratio", "none"]
Estimator = Literal["auto", "swap", "harvest", "em", "row-skipping"]
Format = Literal["text", "markdown", "latex", "html"]
Booster = Literal["lightgbm", "xgboost", "catboost"]
Merge = Literal["exact", "query"]
