# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end of a program says of this computer: no space, and programs that were killed."""

import os
from pathlib import Path

import pytest

from kernsmith import endings
from kernsmith.endings import Signs
from kernsmith.errors import DiskFull, KernsmithError, ProcessFailed, ProcessTimedOut
from kernsmith.process import run


def signs(*lines: str) -> Signs:
    found = Signs()
    for line in lines:
        found.read(line)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "clang: error: unable to execute command: Killed",
        "gcc: fatal error: Killed signal terminated program cc1",
        "make[3]: *** [scripts/Makefile.build:289: fs/pipe.o] Killed",
        "make[3]: *** [scripts/Makefile.build:289: fs/pipe.o] Error 137",
        "scripts/link-vmlinux.sh: line 70: 12345 Killed                  ld.lld",
        "Killed",  # dash
    ],
)
def test_words_of_what_was_killed(line: str) -> None:
    assert signs(line) == Signs(killed=True)


@pytest.mark.parametrize(
    "line",
    [
        "clang: error: unable to execute command: Segmentation fault (core dumped)",
        "make[3]: *** [scripts/Makefile.build:289: fs/pipe.o] Error 1",
        "  CC      mm/oom_kill.o",
        "mm/oom_kill.c:12: error: expected ';' after 'Killed'",
    ],
)
def test_words_of_what_was_not(line: str) -> None:
    assert signs(line) == Signs()


@pytest.mark.parametrize("script", ["kill -9 $$", "kill -15 $$", "sh -c 'kill -9 $$'; exit $?"])
def test_a_program_that_was_killed_is_told_from_one_that_failed(script: str) -> None:
    with pytest.raises(ProcessFailed) as caught:
        run(["sh", "-c", script], timeout=10)
    assert caught.value.of_host
    assert KernsmithError("why").because_of(caught.value).of_host


def test_a_failure_and_a_time_limit_are_the_programs_own() -> None:
    for script, kind in (("exit 1", ProcessFailed), ("sleep 100", ProcessTimedOut)):
        with pytest.raises(kind) as caught:
            run(["sh", "-c", script], timeout=0.3)
        assert not caught.value.of_host


def free(bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All disks have so much left."""

    def found(folder: Path) -> os.statvfs_result:
        return os.statvfs_result((1, 1, 9, 9, bytes, 9, 9, 9, 0, 255))

    monkeypatch.setattr(os, "statvfs", found)


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("kill -BUS $$", 20 << 20),  # ld.lld, which takes its half image away
        ("sh -c 'kill -BUS $$'; exit $?", 20 << 20),
        ("echo 'make: *** [Makefile:3: vmlinux] Bus error'; exit 2", 20 << 20),
        ("echo 'it broke'; exit 1", 4096),
    ],
)
def test_a_full_disk_is_found_where_nobody_says_so(
    script: str, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProcessFailed):
        run(["sh", "-c", script], timeout=10, cwd=tmp_path)
    free(left, monkeypatch)
    with pytest.raises(DiskFull, match=f"no space left on the disk of {tmp_path}"):
        run(["sh", "-c", script], timeout=10, cwd=tmp_path)


def test_a_disk_with_space_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    free(endings.LEAST_BYTES, monkeypatch)
    with pytest.raises(ProcessFailed):
        run(["sh", "-c", "exit 1"], timeout=10)
    free(0, monkeypatch)
    assert run(["sh", "-c", "exit 1"], timeout=10, check=False).returncode == 1
