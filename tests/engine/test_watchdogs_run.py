# SPDX-License-Identifier: GPL-2.0-or-later
"""Watchdogs on real kernels: mistakes in the source that no workload and no processor minds.

A pipe's ring has one slot too few, which the allocator makes good, and its size is computed by a
shift that is too long, which x86-64 makes good. Readers take two locks in one order and writers in
the other, which one processor hardly ever minds. Six twins of the micro kernel, and the kernel with
the mistakes: `make test-all` builds them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernels import ALL
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.source import Source

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("optimize")]

ORACLES = ("ubsan", "kasan", "lockdep")
MISTAKES = {
    "kzalloc_objs(struct pipe_buffer, pipe_bufs,": (
        "kzalloc_objs(struct pipe_buffer, pipe_bufs - 1,"
    ),
    "pipe->ring_size = pipe_bufs;": "pipe->ring_size = 1U << (32 + ilog2(pipe_bufs));",
    '#include "internal.h"\n': """#include "internal.h"

static DEFINE_SPINLOCK(one_lock);
static DEFINE_SPINLOCK(other_lock);

static void lock_both(spinlock_t *first, spinlock_t *second)
{
	spin_lock(first);
	spin_lock(second);
	spin_unlock(second);
	spin_unlock(first);
}
""",
    "	/* Null read succeeds. */\n": "	lock_both(&one_lock, &other_lock);\n",
    "	/* Null write succeeds. */\n": "	lock_both(&other_lock, &one_lock);\n",
}
STUDY = """
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = ["pipe", "file", "fork"]
[variants]
"right" = {{}}
"wrong" = {{ source = "{wrong}" }}
[design]
layouts = 2
"""


def wrong_source(source: Source, folder: Path) -> Path:
    """A copy with the mistakes."""
    subprocess.run(["cp", "-a", source.path, folder], check=True)
    path = folder / "fs/pipe.c"
    text = path.read_text()
    for right, wrong in MISTAKES.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def answers(
    micro_kernel: Kernel, source: Source, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Any]:
    if not os.environ.get(ALL):
        pytest.skip("kernels with watchdogs take minutes each, and make test-all builds them")
    folder = tmp_path_factory.mktemp("watchdogs")
    study = folder / "study.toml"
    study.write_text(STUDY.format(wrong=wrong_source(source, folder / "linux")))
    command = [sys.executable, "-m", "kernsmith", "verify", str(study), "--json"]
    oracles = [word for name in ORACLES for word in ("--oracle", name)]
    done = subprocess.run([*command, *oracles], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["answers"]
    return {(answer["oracle"], answer["variant"]): answer for answer in found}


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_kernel_as_it_is_reports_nothing(
    oracle: str, answers: dict[tuple[str, str], Any]
) -> None:
    right = answers[oracle, "right"]
    assert (right["passed"], right["failed"], right["reason"]) == (3, 0, "")


@pytest.mark.parametrize(
    ("oracle", "name", "told"),
    [
        ("ubsan", "UBSAN: shift-out-of-bounds in ../source/fs/pipe.c", "shift exponent 36 is too"),
        ("kasan", "BUG: KASAN: slab-out-of-bounds in", "Read of size 8 at addr"),
        ("lockdep", "WARNING: possible circular locking dependency detected", "7.3.4 #1 Not taint"),
    ],
)
def test_mistakes_that_nothing_else_shows_are_reported(
    oracle: str, name: str, told: str, answers: dict[tuple[str, str], Any]
) -> None:
    wrong = answers[oracle, "wrong"]
    assert not wrong["reason"], "the workloads end well"
    (fault,) = wrong["new"]
    assert fault["name"].startswith(name)
    assert fault["said"][1].startswith(told)
