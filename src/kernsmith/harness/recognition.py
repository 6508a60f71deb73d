# SPDX-License-Identifier: GPL-2.0-or-later
"""Which harness wrote a file: found out from its content, never from its name."""

from __future__ import annotations

import gzip
import lzma
import tempfile
import zlib
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, ProgramMissing, UserError
from kernsmith.harness import (
    go,
    hyperfine,
    kcbench,
    lkp,
    mmtests,
    perf_stat,
    phoronix,
    pyperf,
)
from kernsmith.harness.protocol import Content, Format, Malformed, Table

FORMATS: tuple[Format, ...] = (
    hyperfine.FORMAT,
    pyperf.FORMAT,
    mmtests.FORMAT,
    lkp.FORMAT,
    phoronix.FORMAT,
    go.FORMAT,
    kcbench.FORMAT,
    perf_stat.FORMAT,
)

MOST_BYTES = 1 << 28
"""Of a file's content, unpacked: what is larger is of no harness."""
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_UNPACK_SECONDS = 60.0


def recognise(path: Path) -> tuple[Format, Table] | None:
    """The format of a file and its table; None where it is of none.

    gzip, xz and zstd are unpacked.

    Raises:
        UserError: it cannot be read, or it is of a format and broken.
    """
    read = _content(path)
    if len(read) > MOST_BYTES:
        return None
    content = Content(read.decode("utf-8-sig", "replace"))
    for each in FORMATS:
        try:
            table = each.read(content)
            if table is not None and not table.rows:
                raise Malformed("it holds no values")
        except Malformed as error:
            raise UserError(f"{path} ({each.name}): {_one_line(str(error))}") from None
        if table is not None:
            return each, table
    return None


def names() -> str:
    """All formats, for sentences."""
    known = [each.name for each in FORMATS]
    return f"{', '.join(known[:-1])} and {known[-1]}"


def is_structured(path: Path) -> str:
    """`JSON` or `XML` where a file looks like that, and so is no table; empty otherwise."""
    start = _content(path)[:4096].decode("utf-8-sig", "replace").lstrip()
    if start.startswith(("{", "[")):
        return "JSON"
    return "XML" if start.startswith(("<?xml", "<!DOCTYPE")) else ""


def _unzstd(path: Path) -> bytes:
    """By the program: Python has it from 3.14 on.

    Raises:
        UserError: there is none, or it cannot unpack the file.
    """
    with tempfile.TemporaryDirectory(prefix="kernsmith-zstd-") as folder:
        unpacked = Path(folder) / "unpacked"
        command: list[str | Path] = ["zstd", "--decompress", "--quiet", "-o", unpacked, path]
        try:
            process.run(command, timeout=_UNPACK_SECONDS)
        except ProgramMissing:
            raise
        except ProcessFailed as error:
            raise UserError(f"{path} cannot be unpacked: {error.tail.strip()}") from None
        with unpacked.open("rb") as file:
            return file.read(MOST_BYTES + 1)


def _content(path: Path) -> bytes:
    """The unpacked content, as far as one byte beyond `MOST_BYTES`."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_XZ))
        if start.startswith(_GZIP):
            with gzip.open(path) as unpacked:
                content = unpacked.read(MOST_BYTES + 1)
        elif start == _XZ:
            with lzma.open(path) as unpacked:
                content = unpacked.read(MOST_BYTES + 1)
        elif start.startswith(_ZSTD):
            content = _unzstd(path)
        else:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder; a file of results is expected") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise UserError(f"{path} cannot be unpacked: {error}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    return content


def _one_line(text: str) -> str:
    return " ".join(text.split())
