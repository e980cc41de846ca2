"""How people look at a page: P(examined) for positions and pairs of positions, and a sampler that agrees."""

from truerank.examination.base import Examination, ExaminationModel
from truerank.examination.continuous import Continuous
from truerank.examination.curves import geometric, inverse_rank
from truerank.examination.files import load_examination
from truerank.examination.independent import Independent
from truerank.examination.row_skipping import RowSkipping
from truerank.examination.tabulated import Tabulated

__all__ = [
    "Continuous",
    "Examination",
    "ExaminationModel",
    "Independent",
    "RowSkipping",
    "Tabulated",
    "geometric",
    "inverse_rank",
    "load_examination",
]
