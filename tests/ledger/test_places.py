# SPDX-License-Identifier: GPL-2.0-or-later
"""No row holds a path of one host's folders: keys and variables stand for them."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from kernsmith import paths
from kernsmith.ledger import BootRow, BuildRow, Ledger, RunRow, TrialRow, now
from kernsmith.ledger.kernels import read_kernels
from kernsmith.ledger.schema import METADATA


def content(url: str) -> str:
    """All that the ledger holds, as one text."""
    with create_engine(url).connect() as connection:
        rows = [connection.execute(table.select()).all() for table in METADATA.sorted_tables]
    return repr(rows)


def test_rows_name_files_by_keys_and_readers_get_paths(
    either: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one host has recorded is read on another one, whose cache lies elsewhere."""
    here, there = tmp_path / "here", tmp_path / "there"
    monkeypatch.setenv("KERNSMITH_CACHE", str(here))
    plugin, console = f"{paths.shipped('build')}/tracer.so", f"{here}/runs/1/console.log"
    command = ("qemu-system-x86_64", "-kernel", f"{here}/kernels/k/vmlinux", "-plugin", plugin)
    boot = BootRow("s", "tcg", "image", "k", "default", command, console, now())
    ledger = Ledger(either)
    ledger.add_trial(TrialRow("t", "k", "v", "default", "pipe", "tcg", "skylake", 0, conditions={}))
    assert ledger.claim("t") == 1
    reason = f"no metrics; see {console}"
    number = ledger.record_boot(boot)
    ledger.end_boot(number, "failed", reason, 1.0)
    provenance = {"command": list(command)}
    run = RunRow("t", 1, "failed", reason, console, now(), 1.0, {}, provenance, number)
    ledger.record(run)
    log = f"make failed\nfull log: {here}/kernels/k/build.log"
    ledger.record_builds([BuildRow("demo", "v", "", "failed", log, "clang", "lld")])

    held = content(either)
    assert str(tmp_path) not in held
    assert str(paths.shipped()) not in held
    assert "'runs/1/console.log'" in held
    assert "$KERNSMITH_CACHE/kernels/k/vmlinux" in held
    assert "$KERNSMITH/build/tracer.so" in held
    ended = replace(boot, status="failed", reason=reason, wall_seconds=1.0)
    assert ledger.boots([number]) == {number: ended}
    (read,) = ledger.runs(["t"]).values()
    assert (read, read.provenance) == (run, provenance)

    monkeypatch.setenv("KERNSMITH_CACHE", str(there))
    (read,) = ledger.runs(["t"]).values()
    assert read.console == f"{there}/runs/1/console.log"
    assert read.reason == f"no metrics; see {there}/runs/1/console.log"
    assert read_kernels((), either)[0].reason.endswith(f"full log: {there}/kernels/k/build.log")
    ledger.close()


def test_a_file_outside_of_the_cache_keeps_its_path(either: str) -> None:
    ledger = Ledger(either)
    ledger.add_trial(TrialRow("t", "k", "v", "default", "pipe", "tcg", "skylake", 0, conditions={}))
    ledger.record(RunRow("t", 1, "ok", "", "/elsewhere/console.log", now(), 1.0, {}))
    assert ledger.runs(["t"])["t"].console == "/elsewhere/console.log"
    ledger.close()
