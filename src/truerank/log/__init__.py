"""Click logs as they are: read, checked, counted and summed by an engine that need not fit them in memory."""

from truerank.log.click_log import ClickLog
from truerank.log.readers import open_log

__all__ = ["ClickLog", "open_log"]
