"""A folder of counted days: yesterday's sessions and today's log make the whole."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from truerank.atomic import disk_errors, replace_whole
from truerank.errors import FileFormatError, InputError
from truerank.examination.base import Examination
from truerank.log.click_log import ClickLog
from truerank.log.engines import open_engine
from truerank.log.folders import hold
from truerank.log.sessions import CountedSessions, Progress, sessions_counted_before
from truerank.pairs.compaction import compact
from truerank.pairs.pair_weights import PairWeights
from truerank.types import SessionCounts

_MANIFEST = "manifest.json"
_FORMAT = "truerank.sessions"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Day:
    """What a store knows of one day.

    Attributes:
        file: the file of its counts, inside the folder.
        sessions, impressions: how many were counted.
        ids: the types of query and item.
        content: a digest of what was counted and of the first and last session, whatever the order of the log was.
    """

    file: str
    sessions: int
    impressions: int
    ids: str
    content: str


class SessionStore:
    """Days of a log, each with its equal sessions counted, as Parquet files in a folder with a manifest.

    A day is there as a whole or not at all, even if the process is killed while it is added. A session belongs to one
    day: what goes on past midnight counts as two.

    >>> import pyarrow as pa
    >>> from truerank import Independent, open_log
    >>> shown = {"session": [1, 1], "query": ["a", "a"], "item": [7, 8], "position": [1, 2], "label": [0, 1]}
    >>> store = SessionStore("sessions")
    >>> store.add(open_log(pa.table(shown)), day="2026-11-18").sessions
    1
    >>> store.add(open_log(pa.table({**shown, "session": [2, 2]})), day="2026-11-19").sessions
    1
    >>> store.compact(Independent([1, 0.5])).weight.tolist()
    [4.0]
    """

    def __init__(self, folder: str | os.PathLike[str], engine: Any = "duckdb", **settings: Any) -> None:
        """Open a folder, or make one; `engine` and `settings` (memory_limit …) are those of `truerank.open_log`."""
        self.folder = Path(folder)
        self.engine = open_engine(engine, **settings)
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def days(self) -> dict[str, Day]:
        """The days that are there, in order."""
        path = self.folder / _MANIFEST
        if not path.exists():
            return {}
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if (manifest["format"], manifest["version"]) != (_FORMAT, _VERSION):
                raise FileFormatError(f"{path} is {manifest['format']} {manifest['version']}; not {_FORMAT} {_VERSION}")
            return {day: Day(**about) for day, about in sorted(manifest["days"].items())}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(f"{path} cannot be used: {error}") from error

    def add(
        self,
        log: ClickLog,
        day: str,
        *,
        again: Literal["refuse", "skip", "replace"] = "refuse",
        portion: int | None = None,
        progress: Progress | None = None,
    ) -> Day:
        """Count the sessions of a log and keep them under the name of a day.

        Args:
            log: the log of that day.
            day: its name, such as "2026-11-18".
            again: what to do if that day is there, or another with the same content: refuse it, skip it and leave what
                is there, or (only for the same name) replace it.
            portion, progress: as for `ClickLog.compact`.
        """
        if again not in ("refuse", "skip", "replace"):
            raise InputError(f"again is {again!r}; it must be 'refuse', 'skip' or 'replace'")
        if not isinstance(day, str) or not re.fullmatch(r"[\w-][\w.-]*", day):
            raise InputError(f"day is {day!r}; it must be letters, digits, '_', '-' and '.', such as '2026-11-18'")
        with self._alone():
            days = self.days
            if day in days and again == "skip":
                return days[day]
            if day in days and again == "refuse":
                raise InputError(
                    f"{day} is in {self.folder} already, with {days[day].sessions:,} sessions. "
                    "Hint: again='skip' leaves it, again='replace' takes the new one"
                )
            temporary = self.folder / f".{day}.parquet"
            try:
                with disk_errors(temporary):
                    new = _write_day(log, day, temporary, portion, progress)
                alike = (name for name, old in days.items() if old.content == new.content and name != day)
                same = next(alike, None) if new.sessions else None
                if same is not None and again == "skip":
                    return days[same]
                self._check(new, day, same, days)
                temporary.replace(self.folder / new.file)
            finally:
                temporary.unlink(missing_ok=True)
            self._write_manifest(days | {day: new})
            self._remove_strays()
            return new

    @property
    def counted(self) -> CountedSessions:
        """The sessions of all days, to be added up by the engine."""
        days = self.days
        if not days:
            raise InputError(f"{self.folder} has no days yet. Hint: store.add(log, day='2026-11-18')")
        files = [self.folder / day.file for day in days.values()]
        for file in files:
            if not file.exists():
                raise FileFormatError(f"{file} is gone, which {self.folder / _MANIFEST} names")
        table = self.engine.read_parquet([os.fspath(file) for file in files])
        return sessions_counted_before(table.select("query", "places", "items", "sessions"), self.engine)

    def session_counts(self) -> SessionCounts:
        """The sessions of all days, added up."""
        return next(self.counted.in_portions(2**62))

    def compact(
        self,
        examination: Examination | None = None,
        method: str = "robust",
        *,
        merge: str = "exact",
        normalize: str | None = "auto",
        gain: str = "linear",
        variance: str = "shrink",
        portion: int | None = None,
        progress: Progress | None = None,
    ) -> PairWeights:
        """The weighted pairs of all days: those of one log with all their rows. See `ClickLog.compact`."""
        portions = self.counted.in_portions(portion, progress)
        return compact(portions, method, examination, merge=merge, normalize=normalize, gain=gain, variance=variance)

    def _check(self, new: Day, day: str, same: str | None, days: Mapping[str, Day]) -> None:
        if same is not None:
            raise InputError(
                f"{day} has the very sessions of {same}, which is in {self.folder} already: it seems to be one log "
                "read twice. Hint: again='skip' leaves it out"
            )
        other = next((name for name, old in days.items() if old.ids != new.ids and name != day), None)
        if other is not None:
            raise InputError(f"{day} has {new.ids} and {other} has {days[other].ids}; ids must be alike in all days")

    def _write_manifest(self, days: Mapping[str, Day]) -> None:
        about = {name: asdict(day) for name, day in sorted(days.items())}
        text = json.dumps({"format": _FORMAT, "version": _VERSION, "days": about}, indent=1)
        with replace_whole(self.folder / _MANIFEST) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _remove_strays(self) -> None:
        """What a killed process left behind, and what was replaced; files of other names are not ours."""
        known = {day.file for day in self.days.values()}
        for file in self.folder.glob("*.parquet"):
            if file.name not in known and re.fullmatch(r"\..+\.parquet|.+\.[0-9a-f]{12}\.parquet", file.name):
                file.unlink()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        held = hold(self.folder)
        if held is None and os.name == "posix":
            raise InputError(f"another process is adding to {self.folder}; only one can at a time")
        try:
            yield
        finally:
            if held is not None:
                os.close(held)


def _write_day(log: ClickLog, day: str, path: Path, portion: int | None, progress: Progress | None) -> Day:
    import pyarrow.parquet as pq

    ends = log.engine.collect(log.table.aggregate(first=log.table.session.min(), last=log.table.session.max()))
    digest, writer, sessions, impressions, ids = _Digest(str(ends.to_pylist())), None, 0, 0, ""
    try:
        for table in log.counted.tables(portion, progress):
            if writer is None:
                writer = pq.ParquetWriter(path, table.schema, compression="zstd", write_page_checksum=True)
                ids = f"query: {table.schema.field('query').type}, item: {table.schema.field('items').type.value_type}"
            writer.write_table(table)
            digest.update(table)
            times, sizes = table["sessions"].to_numpy(), table["places"].combine_chunks().value_lengths().to_numpy()
            sessions, impressions = sessions + int(times.sum()), impressions + int(times @ sizes)
    finally:
        if writer is not None:
            writer.close()
    content = digest.hexdigest()
    return Day(f"{day}.{content[:12]}.parquet", sessions, impressions, ids, content)


class _Digest:
    """Of counted sessions, in whatever portions they come: a digest a column, then one of these."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._columns: dict[str, Any] = {}

    def update(self, table: Any) -> None:
        columns = {name: table[name].combine_chunks() for name in ("query", "sessions")}
        for name in ("places", "items"):
            lists = table[name].combine_chunks()
            columns |= {name: lists.flatten(), f"{name} in each": lists.value_lengths()}
        for name, column in columns.items():
            hasher = self._columns.setdefault(name, hashlib.sha256())
            for value in _bytes_of(column):
                hasher.update(value)

    def hexdigest(self) -> str:
        whole = hashlib.sha256(self._start.encode())
        for name in sorted(self._columns):
            whole.update(self._columns[name].digest())
        return whole.hexdigest()


def _bytes_of(column: Any) -> Iterator[bytes]:
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        for text in column.to_pylist():
            yield text.encode() + b"\0"
    else:
        yield column.to_numpy(zero_copy_only=False).astype("<i8").tobytes()
