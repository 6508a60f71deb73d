# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as pprof's profile: gzipped protocol buffers.

https://github.com/google/pprof/blob/main/proto/profile.proto has the messages and their fields,
https://protobuf.dev/programming-guides/encoding/ how they are written: this needs unsigned numbers,
strings and messages only. A sample is the instructions that were executed of one line; its stack
is what was inlined into what: counts know no callers.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator

from kernsmith.profile.coverage.coverage import Coverage

_LENGTH_DELIMITED = 2
_MOST = 2**63 - 1


class _Message:
    """A message that is being written. Fields have their numbers in profile.proto."""

    def __init__(self) -> None:
        self.content = bytearray()

    def number(self, field: int, value: int) -> None:
        """A number; 0 is what a field has that is not there."""
        if value:
            self.content += _varint(field << 3) + _varint(value)

    def numbers(self, field: int, values: Iterable[int]) -> None:
        """Packed numbers."""
        self.field(field, b"".join(map(_varint, values)))

    def field(self, field: int, content: bytes | bytearray) -> None:
        """A string, a message, or packed numbers."""
        self.content += _varint(field << 3 | _LENGTH_DELIMITED) + _varint(len(content)) + content

    def message(self, field: int, **of: int) -> None:
        """A message of numbers: field1=…, field2=…"""
        inner = _Message()
        for name, value in of.items():
            inner.number(int(name.removeprefix("field")), value)
        self.field(field, inner.content)


def pprof_bytes(coverage: Coverage) -> bytes:
    """The profile, as `go tool pprof` reads it; the same for the same coverage."""
    strings: dict[str, int] = {"": 0}

    def text(words: str) -> int:
        return strings.setdefault(words, len(strings))

    profile = _Message()
    profile.message(1, field1=text("instructions"), field2=text("count"))
    for number, sample in enumerate(coverage.samples, start=1):
        inner = _Message()
        inner.numbers(1, [number])
        inner.numbers(2, [min(sample.executed, _MOST)])
        profile.field(2, inner.content)
    profile.message(
        3, field1=1, field5=text("vmlinux"), field6=text(coverage.build_id),
        field7=1, field8=1, field9=1, field10=1,
    )  # fmt: skip
    for number, sample in enumerate(coverage.samples, start=1):
        location = _Message()
        location.number(1, number)
        location.number(2, 1)
        for function, line in _frames(coverage, sample.instance, sample.line):
            location.message(4, field1=function + 1, field2=line)
        profile.field(4, location.content)
    for number, one in enumerate(coverage.functions, start=1):
        file = "" if one.file is None else coverage.files[one.file].path
        name = text(one.name)
        profile.message(
            5, field1=number, field2=name, field3=name, field4=text(file), field5=one.line
        )
    if coverage.workloads:
        comment = text(f"workloads: {' '.join(coverage.workloads)}")
        profile.numbers(13, [comment])
    for words in strings:
        profile.field(6, words.encode())
    return gzip.compress(bytes(profile.content), mtime=0)


def _frames(coverage: Coverage, instance: int | None, line: int) -> Iterator[tuple[int, int]]:
    """Functions with the lines that they were at, the innermost first."""
    while instance is not None:
        own = coverage.instances[instance]
        yield own.function, line
        instance, line = own.parent, own.call_line


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
