# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of a command."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.machine.command import Ran, find_command, run_command

INTERRUPTED = """
import signal, sys
from pathlib import Path
from kernsmith.machine.command import run_command
words = ["sh", "-c", "sleep 600 & echo $! > %s; wait" % sys.argv[1]]
try:
    run_command(Path("/bin/sh"), words)
except KeyboardInterrupt:
    print("interrupted")
"""


def sh(script: str) -> Ran:
    return run_command(find_command(["sh"]), ["sh", "-c", script])


def test_the_figures_of_a_run() -> None:
    ran = sh("sleep 0.2")
    assert ran.exit_code == 0
    assert ran.metrics["seconds"] >= 0.2
    assert 0 <= ran.metrics["user_seconds"] < 0.2
    assert ran.metrics["voluntary_switches"] >= 1
    assert ran.metrics["minor_faults"] > 10


def test_what_children_take_is_the_commands() -> None:
    ran = run_command(
        Path(sys.executable),
        [sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', "
         "'sum(range(10**7))'])"],
    )  # fmt: skip
    assert ran.metrics["user_seconds"] > 0.05


def test_memory_is_told_where_it_is_the_commands_own() -> None:
    """What the process had before it became the command is in the kernel's figure."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program = f"x = b'x' * {1024 * (own + 20_000)}"
    ran = run_command(Path(sys.executable), [sys.executable, "-c", program])
    assert ran.metrics["max_rss"] > own + 20_000
    assert "max_rss" not in sh("true").metrics


def test_output_goes_nowhere_and_errors_are_kept(capfd: pytest.CaptureFixture[str]) -> None:
    ran = sh("echo out; echo bad >&2; exit 3")
    assert (ran.exit_code, ran.errors) == (3, "bad")
    assert capfd.readouterr() == ("", "")


def test_of_many_errors_the_end_is_kept() -> None:
    assert len(sh("seq 100000 >&2; echo last >&2").errors) <= 2000
    assert sh("seq 100000 >&2; echo last >&2").errors.endswith("99999\n100000\nlast")


def test_a_command_that_a_signal_ends() -> None:
    assert sh("kill -9 $$").exit_code == -9


def test_a_command_reads_nothing() -> None:
    assert sh("cat").exit_code == 0


def test_an_interrupt_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    caller = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(file)], stdout=subprocess.PIPE, text=True
    )
    while not (file.exists() and file.read_text().strip()):
        time.sleep(0.01)
    caller.send_signal(signal.SIGINT)
    said, _ = caller.communicate(timeout=60)
    assert said == "interrupted\n"
    while _lives(int(file.read_text())):
        time.sleep(0.01)


def _lives(process: int) -> bool:
    """Whether it is there and no zombie that nobody waits for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_commands_that_cannot_be_run() -> None:
    with pytest.raises(UserError, match="a command is missing"):
        find_command([])
    with pytest.raises(UserError, match="there is no program 'nosuch' to run: nosuch -x"):
        find_command(["nosuch", "-x"])
