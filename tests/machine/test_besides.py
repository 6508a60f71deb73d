# SPDX-License-Identifier: GPL-2.0-or-later
"""What some kernels are told, by what is in them."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Job
from kernsmith.machine.besides import told_besides
from kernsmith.machine.tcg import open_machine


@pytest.mark.parametrize(
    ("content", "of_a_root", "word"),
    [
        # It wrote its pages into the root's image, and died of what it read.
        (b"quiet\0acpi_no_memhotplug\0", True, "acpi_no_memhotplug"),
        # It tested its algorithms in all the time that a server had nothing to do.
        (b"\0016alg: self-tests for %s using %s failed\0", False, "cryptomgr.notests"),
        # It looked for pages that are in use, at some that it drew by chance.
        (b"damon_stat.enabled\0damon_stat.memory_idle\0", False, "damon_stat.enabled=N"),
    ],
)
def test_what_only_some_kernels_do_is_told_to_these_alone(
    tmp_path: Path, content: bytes, of_a_root: bool, word: str
) -> None:
    plain, distribution = tmp_path / "plain", tmp_path / "distribution"
    plain.write_bytes(b"\x7fELFquiet\0")
    distribution.write_bytes(b"\x7fELF" + content)
    (pipe,) = load_catalogue().select(["pipe"])
    plainly = Job(pipe, tmp_path)
    in_a_root = Job(replace(pipe, root=tmp_path / "root.squashfs"), tmp_path)
    assert told_besides(plain, in_a_root) == ()
    assert told_besides(distribution, in_a_root) == (word,)
    assert told_besides(distribution, plainly) == (() if of_a_root else (word,))
    machine = open_machine("skylake")
    assert machine.fingerprint(plain) == machine.fingerprint()
    assert machine.fingerprint(distribution) == {**machine.fingerprint(), "told": [word]}
    oracle = replace(in_a_root, words=("loglevel=7",))
    assert told_besides(distribution, oracle) == ((word,) if of_a_root else ())
