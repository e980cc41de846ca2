"""Text files a chunk of whole lines at a time, plain or compressed, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from truerank.errors import FileFormatError
from truerank.types import BoolArray, IntArray

Bytes: TypeAlias = npt.NDArray[np.uint8]
Progress: TypeAlias = Callable[[int, int], None]

CHUNK = 1 << 23
LONGEST_LINE = 1 << 28
_NEWLINE = ord("\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines, or some of them: `text[starts[k]:ends[k]]` is line `numbers[k]` of the file, without its end.

    `consumed` is how much of the file, as it lies on disk, has been read so far.
    """

    text: Bytes
    starts: IntArray
    ends: IntArray
    numbers: IntArray
    consumed: int

    def line(self, k: int) -> str:
        """The text of line k of these; in Latin-1 every byte has a meaning."""
        return self.text[self.starts[k] : self.ends[k]].tobytes().decode("latin-1")

    def select(self, keep: BoolArray) -> Chunk:
        """Only some of the lines."""
        return Chunk(self.text, self.starts[keep], self.ends[keep], self.numbers[keep], self.consumed)


def read_chunks(path: Path) -> Iterator[Chunk]:
    """The lines of a file, in chunks of about `CHUNK` bytes; a chunk is valid until the next one is asked for."""
    import pyarrow as pa

    with _open(path) as (stream, consumed):
        try:
            yield from _whole_lines(stream, consumed)
        except FileFormatError as error:
            raise FileFormatError(f"{path}, {error}") from None
        except (OSError, pa.ArrowException) as error:
            raise FileFormatError(f"{path} cannot be decompressed: {error}. Hint: is it cut short?") from error


def _whole_lines(stream: Any, consumed: Callable[[], int]) -> Iterator[Chunk]:
    buffer, kept, n_lines = np.empty(CHUNK + 1, dtype=np.uint8), 0, 0
    while True:
        filled = kept + _read_into(stream, buffer[kept:-1])
        if filled == kept:  # the end of the file
            if kept:
                buffer[kept] = _NEWLINE
                yield _chunk(buffer[: kept + 1], np.array([kept]), n_lines, consumed())
            return
        ends = np.flatnonzero(buffer[:filled] == _NEWLINE)
        if len(ends):
            yield _chunk(buffer[: ends[-1] + 1], ends, n_lines, consumed())
            n_lines += len(ends)
            kept = filled - int(ends[-1]) - 1
            buffer[:kept] = buffer[filled - kept : filled].copy()
        elif filled > LONGEST_LINE:
            raise FileFormatError(f"line {n_lines + 1} has over {LONGEST_LINE} bytes. Hint: is this a text file?")
        else:
            kept = filled
            buffer = np.append(buffer, np.empty_like(buffer))


def _chunk(text: Bytes, ends: IntArray, n_lines: int, consumed: int) -> Chunk:
    starts = np.concatenate([[0], ends[:-1] + 1])
    if n_lines == 0 and text[:3].tobytes() == _BYTE_ORDER_MARK:
        starts[0] = 3
    return Chunk(text, starts, ends, n_lines + 1 + np.arange(len(ends)), consumed)


def _read_into(stream: Any, room: Bytes) -> int:
    """Fill `room` as far as the file goes."""
    done = 0
    while done < len(room) and (n := stream.readinto(room[done:])):
        done += n
    return done


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Callable[[], int]]]:
    """The bytes of a file, decompressed if its first bytes say that it is compressed, and how far we are in it."""
    import pyarrow as pa

    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise FileFormatError(f"{path} is not a file. Hint: it is read twice, which neither folders nor pipes allow")
    with path.open("rb") as file:
        head = file.read(4)
    compression = next((name for magic, name in _COMPRESSIONS.items() if head.startswith(magic)), None)
    with pa.OSFile(os.fspath(path)) as file:
        if compression is None:
            yield file, file.tell
        else:
            with pa.CompressedInputStream(file, compression) as stream:
                yield stream, file.tell
