# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of no code with a trace of no workload: enough for replays, and small.

Every other function is executed, in turn. In the default layout these lie 8 KiB apart, where they
displace each other from an L1i of 32 KiB.
"""

import struct
from pathlib import Path

from kernsmith.layout import TraceFile
from whole_provenance import put_kernel

FUNCTIONS = 128
HOT = tuple(f"hot_{n}" for n in range(FUNCTIONS))
ROUNDS = 20
_BASE = 0xFFFFFFFF81000000
_APART = 8 << 10
_CALL = 3
_INSTRUCTIONS = (9, 9, 9, 5)
EXECUTED = ROUNDS * FUNCTIONS
"""Instructions in kernel mode, as the trace's own counters say."""


def make_kernel(folder: Path) -> TraceFile:
    """A kernel's folder as replays read it, and the trace in it."""
    put_kernel(folder, "a" * 64)
    (folder / "link.map").write_text(_link_map())
    symbols = [f"{_BASE + number * _APART:x} t {name}\n" for number, name in enumerate(HOT)]
    (folder / "System.map").write_text("".join(symbols))
    trace = folder / "traces" / "pipe.trace"
    trace.parent.mkdir()
    trace.write_bytes(_trace("made"))
    return TraceFile("pipe", trace, "made")


def write_trace(path: Path, tag: str, rounds: int = ROUNDS) -> None:
    """The trace, as of any workload; every function is executed so many times."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_trace(tag, rounds))


def _link_map() -> str:
    def line(address: int, size: int, align: int, what: str) -> str:
        return f"{address:16x} {address:16x} {size:8x} {align:5d} {what}\n"

    lines = [line(_BASE, FUNCTIONS * _APART, 64, ".text")]
    for number, name in enumerate(HOT):
        start = _BASE + number * _APART
        for symbol, address, size in (
            (name, start, 64),
            (name.replace("hot", "cold"), start + 64, _APART - 64),
        ):
            lines.append(line(address, size, 64, f"        vmlinux.a(a.o):(.text.{symbol})"))
            lines.append(line(address, size, 1, f"                {symbol}"))
    return "".join(lines)


def _trace(tag: str, rounds: int = ROUNDS) -> bytes:
    """See native/trace/src/lib.rs."""
    begin = (1 << 31) + 2
    words = [begin, *(number for _ in range(rounds) for number in range(FUNCTIONS))]
    starts = [_BASE + number * _APART for number in range(FUNCTIONS)]
    targets = [*starts[1:], starts[0]]
    blocks = [
        struct.pack(
            "<QQHHBBHI", start, target, 32, 27, _CALL, 1, len(_INSTRUCTIONS), start & 0xFFFF_FFFF
        )
        for start, target in zip(starts, targets, strict=True)
    ]
    counters = [0] * 15, [rounds * FUNCTIONS, *[0] * 14]
    cpu, architecture = b"skylake", b"x86_64"
    # The large page that the end of the text lies in is split into small ones.
    pages = struct.pack("<3Q", _BASE, _BASE + (2 << 20) - 1, 12)
    code = b"\x90" * sum(_INSTRUCTIONS) * len(blocks)
    frame = _frame(struct.pack(f"<{len(words)}I", *words))
    lengths = [
        len(words),
        len(frame),
        len(blocks),
        len(blocks) * len(_INSTRUCTIONS),
        len(code),
        len(tag),
        len(cpu),
    ]
    return b"".join(
        [
            b"KSTRACE5",
            frame,
            struct.pack("<I", len(frame)),
            *blocks,
            bytes(_INSTRUCTIONS) * len(blocks),
            code,
            tag.encode(),
            *(struct.pack("<15Q", *each) for each in counters),
            cpu,
            architecture,
            pages,
            struct.pack("<9Q", *lengths, len(architecture), 1),
            b"KSTREND5",
        ]
    )


def _frame(content: bytes) -> bytes:
    """A frame of zstd with one raw block (RFC 8878, 3.1.1); content: at most 128 KiB."""
    single_segment, content_size_of_4_bytes = 1 << 5, 2 << 6
    last_block = 1
    return b"".join(
        [
            struct.pack("<I", 0xFD2FB528),
            struct.pack("<BI", content_size_of_4_bytes | single_segment, len(content)),
            (last_block | len(content) << 3).to_bytes(3, "little"),
            content,
        ]
    )
