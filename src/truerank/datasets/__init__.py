"""Judged lists: from the files of the public data sets, or generated."""

from truerank.datasets.cache import default_cache_folder
from truerank.datasets.generate import generate_dataset
from truerank.datasets.named import load_dataset
from truerank.datasets.ranked import read_ranked
from truerank.datasets.svmlight import read_svmlight
from truerank.datasets.svmlight_writer import write_svmlight

__all__ = ["default_cache_folder", "generate_dataset", "load_dataset", "read_ranked", "read_svmlight", "write_svmlight"]
