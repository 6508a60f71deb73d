# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest program as a program of this machine: every workload does what it says."""

import errno
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.guest import load_catalogue
from kernsmith.paths import shipped
from kernsmith.process import Completed

# One file, one workload: unix_socket.c is unix-socket.
NAMES = sorted(path.stem.replace("_", "-") for path in (shipped("guest") / "workloads").glob("*.c"))
# What a container or another kernel may lack, by the workloads that need it.
MAY_BE_ABSENT = {
    "afalg-cipher": {errno.EAFNOSUPPORT, errno.ENOENT},
    "afalg-hash": {errno.EAFNOSUPPORT, errno.ENOENT},
}


def guest(program: Path, *options: str) -> Completed:
    return process.run([program, *options], log=None, timeout=60, check=False)


def metrics(lines: Sequence[str]) -> dict[str, float]:
    found = (re.fullmatch(r"kernsmith: metric (\w+)=(\d+\.\d{9})", line) for line in lines)
    return {match[1]: float(match[2]) for match in found if match}


def test_every_file_is_a_workload(program: Path) -> None:
    assert sorted(load_catalogue(program).names) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_runs_and_reports(program: Path, name: str) -> None:
    done = guest(program, "--run", name, "--rounds", "40", "--warmup", "2")
    first, *between, last = done.output.splitlines()
    assert first == f"kernsmith: begin {name}"
    end = re.fullmatch(rf"kernsmith: end {name} status=(\d+)(?: (.+))?", last)
    assert end, last
    status = int(end[1])
    if status in MAY_BE_ABSENT.get(name, set()):
        pytest.skip(f"this machine's kernel does not have what {name} needs: {end[2]}")
    assert (status, done.returncode) == (0, 0), last
    assert set(metrics(between)) == {"seconds", "user_seconds", "sys_seconds"}
    assert metrics(between)["seconds"] > 0


def test_more_rounds_are_more_work(program: Path) -> None:
    few, many = (
        metrics(guest(program, "--run", "mmap", "--rounds", rounds).output.splitlines())
        for rounds in ("5", "500")
    )
    assert many["seconds"] > 5 * few["seconds"]


def test_an_unknown_workload_ends_with_a_status(program: Path) -> None:
    done = guest(program, "--run", "none")
    assert done.returncode == 1
    assert done.output.splitlines()[-1] == (
        f"kernsmith: end none status={errno.EINVAL} unknown workload"
    )


def test_a_failure_names_its_cause(program: Path) -> None:
    done = process.run(
        ["prlimit", "--nofile=8:8", program, "--run", "select"], log=None, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.output.splitlines()[-1] == (
        f"kernsmith: end select status={errno.EMFILE} "
        "pipe, socketpair or eventfd: Too many open files"
    )


@pytest.mark.parametrize(
    "options", [[], ["--run"], ["--run", "pipe", "--rounds"], ["--run", "pipe", "--rounds", "0"]]
)
def test_wrong_options_show_the_usage(program: Path, options: list[str]) -> None:
    done = guest(program, *options)
    assert done.returncode == 2
    assert done.output.startswith("usage: kernsmith-guest --list")


def test_the_program_has_the_marks_of_a_region(program: Path) -> None:
    code = program.read_bytes()
    for operation in (1, 2, 3):  # ARM, BEGIN, END
        assert b"\x0f\x1f\x84\x00" + bytes([operation]) + b"MSK" in code
