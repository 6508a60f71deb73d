# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that this machine's perf has just recorded: what perf prints of them is what is read."""

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kernsmith.profile.perfdata import read_perf_data
from perf_files import TEXT

BYTES = 32 << 20
"""More code than this machine's kernel has."""

FORMS = {
    "plain": [],
    "compressed": ["-z"],
    "call chains": ["-g"],
    "two events": ["-e", "context-switches"],
    "data": ["-d", "--phys-data", "--sample-cpu"],
}


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel of single-byte instructions, so that no place in it is between two of them."""
    folder = tmp_path_factory.mktemp("nops")
    source, vmlinux = folder / "nops.s", folder / "vmlinux"
    source.write_text(f".globl _text\n_text:\n.fill {BYTES}, 1, 0x90\n")
    words = ["gcc", "-nostdlib", "-static", "-Wl,--build-id=none", f"-Wl,-Ttext={TEXT:#x}"]
    subprocess.run([*words, "-Wl,-e,_text", "-o", vmlinux, source], check=True)
    return vmlinux


def _perf(*words: "str | Path", output: "Path | None" = None) -> str:
    """perf's output, or where it goes; the test is skipped where perf may not record the kernel."""
    command = ["perf", *map(str, words)]
    env = os.environ | {"PERF_CONFIG": "/dev/null"}
    if output is not None:
        with output.open("wb") as file:
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=env)
        told = ""
    else:
        done = subprocess.run(command, capture_output=True, env=env)
        told = done.stdout.decode()
    if done.returncode:
        pytest.skip(f"perf cannot do this here: {done.stderr.decode()[-200:]}")
    return told


def _kernel_samples(file: Path) -> Counter[int]:
    """What perf prints of a file: how often the kernel was at each address."""
    told = _perf("script", "-G", "-F", "ip", "-i", file)
    return Counter(ip for line in told.split() if (ip := int(line, 16)) >> 63)


def _check(file: Path, vmlinux: Path) -> None:
    found = read_perf_data(file, vmlinux, instructions=True)
    assert found.moved is not None
    printed = _kernel_samples(file)
    link = {ip - found.moved: count for ip, count in printed.items()}
    inside = {ip: count for ip, count in link.items() if TEXT <= ip < TEXT + BYTES}
    assert {first: count for (first, _), count in found.counts.ranges.items()} == inside
    assert found.inside == sum(inside.values()) > 50


RECORD = ["record", "-q", "-a", "-F", "2000", "-e", "cpu-clock"]
LOAD = ["--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=40000"]


@pytest.mark.parametrize("form", FORMS)
def test_what_perf_recorded(form: str, vmlinux: Path, tmp_path: Path) -> None:
    file = tmp_path / "perf.data"
    _perf(*RECORD, *FORMS[form], "-o", file, *LOAD)
    _check(file, vmlinux)


def test_what_perf_piped(vmlinux: Path, tmp_path: Path) -> None:
    file = tmp_path / "perf.data"
    _perf(*RECORD, "-o", "-", *LOAD, output=file)
    _check(file, vmlinux)
