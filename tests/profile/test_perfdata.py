# SPDX-License-Identifier: GPL-2.0-or-later
"""What is recorded of a real kernel is read by perf and LLVM; what LLVM makes of it is ours."""

import os
import struct
import subprocess
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.recording import record_counts, record_perf_data
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import read_system_map
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine.tcg import open_machine
from kernsmith.process import run
from kernsmith.profile import BranchCounts
from kernsmith.profile.counts import read_body
from kernsmith.profile.overlap import overlap
from kernsmith.profile.perfdata import read_perf_data
from kernsmith.profile.symbolized import symbolized

pytestmark = pytest.mark.kernel
LLVM = find_toolchain()
PERIOD = 997
SAMPLE, STACK = 9, 48
"""Kind of a sample's record, and where in it the first branch stands."""


@pytest.fixture(scope="module")
def file(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "perf.data"
    workloads = load_catalogue().select(["pipe", "fork"])
    with ProgressDisplay() as display:
        samples, branches = record_perf_data(
            micro_kernel, workloads, open_machine("skylake"), display, path,
            period=PERIOD, command=["kernsmith", "profile", "record"],
        )  # fmt: skip
    assert abs(branches - samples * PERIOD) < len(workloads) * PERIOD
    return path


def _perf(*words: "str | Path", folder: Path) -> str:
    """perf's output; its own caches go into a folder."""
    command = ["perf", *words]
    env = os.environ | {"HOME": str(folder), "PERF_CONFIG": "/dev/null"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _profgen(kernel: Kernel, file: Path, target: Path, *words: str) -> Path:
    command: list[str | Path] = [
        LLVM.tool("llvm-profgen"), "--kernel", f"--perfdata={file}",
        f"--binary={kernel.vmlinux}", f"--output={target}", *words,
    ]  # fmt: skip
    run(command, timeout=600, cwd=target.parent)
    return target


def test_llvm_counts_the_same(micro_kernel: Kernel, file: Path, tmp_path: Path) -> None:
    raw = _profgen(micro_kernel, file, tmp_path / "raw", "--skip-symbolization", "--use-offset=0")
    theirs = read_body(raw.read_text().lower().splitlines(), origin=raw)
    ours = read_perf_data(file, micro_kernel.vmlinux).counts
    assert ours.ranges == theirs.ranges
    assert ours.branches == theirs.branches
    assert len(ours.branches) > 1000


def test_llvm_makes_the_same_profile(micro_kernel: Kernel, file: Path, tmp_path: Path) -> None:
    theirs = _profgen(micro_kernel, file, tmp_path / "theirs.txt", "--format=text")
    ours = symbolized(
        read_perf_data(file, micro_kernel.vmlinux).counts, micro_kernel.vmlinux, LLVM,
        tmp_path / "ours.txt", None, form="text",
    )  # fmt: skip
    assert "anon_pipe_read:" in ours.read_text()
    assert ours.read_text() == theirs.read_text()


def test_a_moved_kernel_gives_the_same(micro_kernel: Kernel, file: Path, tmp_path: Path) -> None:
    """What the bytes of a file say when the kernel ran elsewhere: KASLR moves all of it."""
    by = 0x1A000000
    text = next(s.address for s in read_system_map(micro_kernel.system_map) if s.name == "_text")
    high = (text >> 32).to_bytes(4, "little")
    whole = bytearray(file.read_bytes())
    for at in range(0, len(whole) - 8, 8):
        if whole[at + 4 : at + 8] == high and whole[at + 3] >= 0x81:
            word = int.from_bytes(whole[at : at + 8], "little")
            whole[at : at + 8] = (word + by).to_bytes(8, "little")
    moved = tmp_path / "moved.data"
    moved.write_bytes(whole)
    found, still = (read_perf_data(path, micro_kernel.vmlinux) for path in (moved, file))
    assert (found.moved, still.moved) == (by, 0)
    assert found.counts == still.counts
    raw = _profgen(micro_kernel, moved, tmp_path / "raw", "--skip-symbolization", "--use-offset=0")
    assert read_body(raw.read_text().lower().splitlines(), origin=raw).ranges == still.counts.ranges


def test_addresses_that_no_processor_recorded(
    micro_kernel: Kernel, file: Path, tmp_path: Path
) -> None:
    """Of programs, of modules, between instructions, backwards, over calls: LLVM's rules hold."""
    random, whole = Random(14), bytearray(file.read_bytes())
    begin, size = struct.unpack_from("<2Q", whole, 40)
    at = begin
    while at < begin + size:
        kind, _, length = struct.unpack_from("<IHH", whole, at)
        if kind == SAMPLE:
            (count,) = struct.unpack_from("<Q", whole, at + STACK - 8)
            for number in range(2 * count):
                if random.random() < 0.08:
                    place = at + STACK + 24 * (number // 2) + 8 * (number % 2)
                    (address,) = struct.unpack_from("<Q", whole, place)
                    near = random.choice([1, 2, -1, 16, 0x1000, random.randrange(64)])
                    odd = random.choice([0, 0x401000, 0xFFFFFFFFC0001000, (1 << 64) - 1])
                    address = random.choice([address + near, odd]) & ((1 << 64) - 1)
                    struct.pack_into("<Q", whole, place, address)
        at += length
    odd_file = tmp_path / "odd.data"
    odd_file.write_bytes(whole)
    words = ("--skip-symbolization", "--use-offset=0")
    raw = _profgen(micro_kernel, odd_file, tmp_path / "raw", *words)
    theirs = read_body(raw.read_text().lower().splitlines(), origin=raw)
    ours = read_perf_data(odd_file, micro_kernel.vmlinux).counts
    assert ours.ranges == theirs.ranges
    assert ours.branches == theirs.branches


def test_perf_shows_the_hot_functions(micro_kernel: Kernel, file: Path, tmp_path: Path) -> None:
    # With -k vmlinux it would disassemble every function, for cycles that no sample has.
    header = _perf("report", "--header-only", "-i", file, folder=tmp_path)
    assert "kernsmith profile record" in header
    told = _perf(
        "report", "-i", file, "--kallsyms", micro_kernel.folder / "System.map", "--stdio",
        "--sort", "symbol_to", "--percent-limit", "0.5", folder=tmp_path,
    )  # fmt: skip
    assert "anon_pipe_read" in told
    events = _perf("report", "-i", file, "--stdio", "--sort", "comm", folder=tmp_path)
    assert "pipe" in events and "fork" in events


def test_perf_script_prints_each_sample(file: Path, micro_kernel: Kernel, tmp_path: Path) -> None:
    told = _perf("script", "-i", file, "-F", "ip,brstack", folder=tmp_path).splitlines()
    printed = Counter[tuple[int, int]]()
    for line in told:
        for entry in line.split()[1:]:
            source, target = entry.split("/")[:2]
            printed[int(source, 16), int(target, 16)] += 1
    found = read_perf_data(file, micro_kernel.vmlinux)
    assert (len(told), printed.total()) == (found.samples, found.entries)
    assert all(printed[pair] == count for pair, count in _own(found.counts).items())


def _own(counts: BranchCounts) -> dict[tuple[int, int], int]:
    """Branches that do not come from programs."""
    return {pair: count for pair, count in counts.branches.items() if pair[0] != 1}


def test_code_around_patched_jumps_can_be_counted(micro_kernel: Kernel, file: Path) -> None:
    """The scheduler's clock begins with a jump that the kernel has made a nop."""
    as_llvm = read_perf_data(file, micro_kernel.vmlinux).counts
    patched = read_perf_data(file, micro_kernel.vmlinux, static_keys=True).counts
    assert patched.branches == as_llvm.branches
    assert as_llvm.ranges.items() < patched.ranges.items()
    workloads = load_catalogue().select(["pipe", "fork"])
    with ProgressDisplay() as display:
        exact = record_counts(micro_kernel, workloads, open_machine("skylake"), display)
    executed = {start for start, _ in exact.ranges} | {last for _, last in exact.ranges}
    added = patched.ranges.keys() - as_llvm.ranges.keys()
    assert all(start in executed and last in executed for start, last in added)
    assert overlap(exact, patched).code > overlap(exact, as_llvm).code


def test_samples_are_near_exact_counts(micro_kernel: Kernel, file: Path) -> None:
    """The hottest branches of the samples are those that were taken most often."""
    workloads = load_catalogue().select(["pipe"])
    with ProgressDisplay() as display:
        exact = record_counts(micro_kernel, workloads, open_machine("skylake"), display)
    sampled = read_perf_data(file, micro_kernel.vmlinux).counts
    hottest = sorted(_own(exact), key=lambda pair: -exact.branches[pair])[:200]
    assert sum(pair in sampled.branches for pair in hottest) > 190
