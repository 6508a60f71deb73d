# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting programs: what is kept, what is killed, and how a failure reads."""

import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernsmith.errors import DiskFull, ProcessFailed, ProcessTimedOut, ProgramMissing, UserError
from kernsmith.process import find, run


def _alive(pid: int) -> bool:
    """Whether ``pid`` runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not _alive(pid)


def test_output_log_and_time(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "echo.log"
    done = run(["sh", "-c", "echo one; echo two >&2"], log=log, timeout=10)
    assert done.output == "one\ntwo\n"
    assert done.returncode == 0
    assert 0 < done.seconds < 10
    assert log.read_text() == "$ sh -c 'echo one; echo two >&2'\none\ntwo\n"


def test_lines_arrive_one_by_one_without_their_ends() -> None:
    lines: list[str] = []
    run(
        ["sh", "-c", r"printf 'a\r\nb\n'; printf c; sleep 0.05; printf d"],
        log=None,
        timeout=10,
        on_line=lines.append,
    )
    assert lines == ["a", "b", "cd"]


def test_standard_error_can_be_kept_apart(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run(["sh", "-c", "echo data; echo warning >&2"], log=log, timeout=10, merge=False)
    assert done.output == "data\n"
    assert "warning" in log.read_text()


def test_large_output_is_not_kept_when_not_captured() -> None:
    done = run(["seq", "100000"], log=None, timeout=10, capture=False)
    assert done.output.splitlines()[-1] == "100000"
    assert len(done.output.splitlines()) == 20


def test_input_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", "--jobserver-auth=3,4")
    monkeypatch.setenv("AWAY", "1")
    script = 'cat; echo "$KEPT:${AWAY-none}:${MAKEFLAGS-none}:$LC_ALL"'
    done = run(
        ["sh", "-c", script],
        log=None,
        timeout=10,
        env={"KEPT": "yes", "AWAY": None},
        input="first\n",
    )
    assert done.output == "first\nyes:none:none:C.UTF-8\n"


def test_a_failure_shows_command_last_lines_and_log(tmp_path: Path) -> None:
    log = tmp_path / "fail.log"
    with pytest.raises(ProcessFailed) as caught:
        run(["sh", "-c", "seq 100; echo 'it broke' >&2; exit 3"], log=log, timeout=10)
    text = str(caught.value)
    assert caught.value.returncode == 3
    assert "sh failed with exit code 3: sh -c" in text
    assert "it broke" in text
    assert "\n    5\n" not in text
    assert f"full log: {log}" in text


def test_a_failure_can_be_looked_at_instead() -> None:
    assert run(["false"], log=None, timeout=10, check=False).returncode == 1


def test_missing_program_names_the_command_that_mends_it() -> None:
    with pytest.raises(ProgramMissing, match=r"no-such-program is not installed here.*make setup"):
        run(["no-such-program"], log=None, timeout=1)
    with pytest.raises(UserError):
        find("no-such-program")
    assert find("sh").is_absolute()


def test_time_out_kills_the_children_too(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    with pytest.raises(ProcessTimedOut, match=r"time limit of 3 s"):
        run(["sh", "-c", f"sleep 100 & echo $! > {pids}; wait"], log=None, timeout=3)
    assert _gone(int(pids.read_text()))


def test_waiting_for_a_processor_is_not_a_programs_time() -> None:
    bound = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    others = [subprocess.Popen([*bound, "sh", "-c", "while :; do :; done"]) for _ in range(3)]
    computes = "import time\nwhile time.process_time() < 1.5: pass"
    try:
        done = run([*bound, sys.executable, "-c", computes], log=None, timeout=3)
        assert done.seconds > 3
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_time_out_when_the_program_closed_its_output() -> None:
    began = time.monotonic()
    with pytest.raises(ProcessTimedOut):
        run(["sh", "-c", "exec >&- 2>&-; exec sleep 100"], log=None, timeout=0.5)
    assert time.monotonic() - began < 50


def test_a_program_deaf_to_sigterm_is_killed() -> None:
    with pytest.raises(ProcessTimedOut):
        run(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], log=None, timeout=0.3)


def test_an_exception_in_the_caller_ends_the_program(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    pids = tmp_path / "pid"
    with pytest.raises(KeyboardInterrupt):
        run(
            ["sh", "-c", f"echo $$ > {pids}; echo go; sleep 100"],
            log=None,
            timeout=None,
            on_line=interrupt,
        )
    assert _gone(int(pids.read_text()))


def test_a_background_child_does_not_keep_us_waiting(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    done = run(["sh", "-c", f"sleep 30 & echo $! > {pids}"], log=None, timeout=20)
    try:
        assert done.seconds < 10
    finally:
        os.kill(int(pids.read_text()), signal.SIGKILL)


def test_what_is_printed_at_the_very_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LooksTooEarly(selectors.DefaultSelector):
        """Finds nothing the first time; by then the program has printed and ended."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if (tmp_path / "go").exists():
                return super().select(timeout)
            program = int(_content(tmp_path / "pid"))
            (tmp_path / "go").touch()
            os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT)
            return []

    monkeypatch.setattr(selectors, "DefaultSelector", LooksTooEarly)
    script = "echo $$ >pid.new; mv pid.new pid; until [ -e go ]; do sleep 0.01; done; echo the end"
    assert run(["sh", "-c", script], timeout=10, cwd=tmp_path).output == "the end\n"


def _content(path: Path) -> str:
    """Of a file that a program is about to write."""
    while not path.exists():
        time.sleep(0.01)
    return path.read_text()


def test_the_program_does_not_outlive_a_killed_kernsmith(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    script = (
        "from kernsmith.process import run; "
        f"run(['sh', '-c', 'echo $$ > {pids}; exec sleep 100'], log=None, timeout=None)"
    )
    owner = subprocess.Popen([sys.executable, "-c", script])
    try:
        end = time.monotonic() + 20
        while not (pids.exists() and pids.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.02)
        pid = int(pids.read_text())
        assert _alive(pid)
    finally:
        owner.kill()
        owner.wait()
    assert _gone(pid)


def test_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="no space left on the disk of"):
        run(["sh", "-c", "echo 'cc1: No space left on device' >&2; exit 1"], log=None, timeout=5)
    with pytest.raises(DiskFull, match="/dev/full"):
        run(["echo", "x"], log=Path("/dev/full"), timeout=5)
