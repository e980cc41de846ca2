"""Click logs as they are: read, checked, counted and summed by an engine that need not fit them in memory."""

from truerank.log.click_log import ClickLog
from truerank.log.pages import open_pages
from truerank.log.readers import open_log
from truerank.log.ubi import open_ubi

__all__ = ["ClickLog", "open_log", "open_pages", "open_ubi"]
