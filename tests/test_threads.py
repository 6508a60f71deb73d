# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of several threads end together, and at once: by Ctrl-C, SIGTERM or an exception."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import Interrupted, ProcessFailed
from kernsmith.threads import PATIENCE_SECONDS, each_of, threads

STUBBORN = "trap '' TERM; echo $$ > {}; while :; do sleep 1; done"
TWO_PROGRAMS = """
import sys, time
from kernsmith import process
from kernsmith.cli import _terminate
from kernsmith.threads import threads
import signal
signal.signal(signal.SIGTERM, _terminate)
with threads(2) as pool:
    for command in sys.argv[1:]:
        pool.submit(process.run, ["sh", "-c", command], timeout=300)
    while True:
        time.sleep(0.1)
"""


INTERRUPTED_ELSEWHERE = """
import signal
import sys
import threading
from kernsmith.threads import first_ended, threads
over = threading.Event()
def interrupt():
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
try:
    with threads(1) as pool:
        job = pool.submit(over.wait, 300)
        try:
            threading.Timer(0.2, interrupt).start()
            first_ended([job])
        finally:
            over.set()
except KeyboardInterrupt:
    sys.exit(130)
"""


COMPUTES = """
import sys, threading, time
import kernsmith.cli as cli
from kernsmith.threads import threads
begun = threading.Event()
def computes():
    begun.set()
    time.sleep(300)  # as code of another language does, of which no thread hears a signal
def command(*words, **options):
    with threads(2) as pool:
        pool.submit(computes)
        begun.wait()
        raise KeyboardInterrupt
cli._app = lambda words: command
cli.main()
"""


def written(path: Path) -> int:
    """The process id in a file, as soon as it is there."""
    end = time.monotonic() + 60
    while not path.exists() or not path.read_text().strip():
        assert time.monotonic() < end, f"{path.name} was not written"
        time.sleep(0.02)
    return int(path.read_text())


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_other_threads_wait_for(tmp_path: Path, sign: int) -> None:
    """One program ends when it is asked to, the other has to be killed."""
    gentle, stubborn = tmp_path / "gentle", tmp_path / "stubborn"
    commands = [f"echo $$ > {gentle}; exec sleep 300", STUBBORN.format(stubborn)]
    command = subprocess.Popen(
        [sys.executable, "-c", TWO_PROGRAMS, *commands], stderr=subprocess.DEVNULL
    )
    programs = [written(gentle), written(stubborn)]
    os.kill(command.pid, sign)
    command.wait(timeout=60)
    assert not any(map(lives, programs))


def test_after_an_exception_nothing_is_started_any_more(tmp_path: Path) -> None:
    began = time.monotonic()
    started = tmp_path / "started"
    with pytest.raises(ValueError, match="enough"), threads(1) as pool:
        job = pool.submit(process.run, ["sh", "-c", f"echo 1 > {started}; sleep 300"], timeout=300)
        later = pool.submit(process.run, ["touch", tmp_path / "later"], timeout=300)
        written(started)
        raise ValueError("enough")
    assert time.monotonic() - began < 20
    assert isinstance(job.exception(), Interrupted)
    assert later.cancelled()
    assert not (tmp_path / "later").exists()


def test_threads_of_another_pool_are_left_alone(tmp_path: Path) -> None:
    with threads(1) as pool:
        job = pool.submit(process.run, ["sh", "-c", "sleep 1; echo done"], timeout=60)
        with pytest.raises(ValueError, match="enough"), threads(1):
            raise ValueError("enough")
        assert job.result().output == "done\n"


def test_ctrl_c_is_heard_whichever_thread_the_signal_comes_to() -> None:
    """It then wakes nobody: a wait without an end would not hear of it until the job is over."""
    command = [sys.executable, "-c", INTERRUPTED_ELSEWHERE]
    assert subprocess.run(command, timeout=60, check=False).returncode == 130


def test_each_item_has_its_result_in_its_place() -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.2 if number == 0 else 0)
        return number * number

    with threads(2) as pool:
        assert each_of(pool, slow_first, range(5)) == [0, 1, 4, 9, 16]


def test_the_first_that_fails_ends_the_others(tmp_path: Path) -> None:
    begun = time.monotonic()

    def run(command: str) -> None:
        process.run(["sh", "-c", command], timeout=300)

    with pytest.raises(ProcessFailed), threads(2) as pool:
        each_of(pool, run, ["sleep 250", f"echo $$ > {tmp_path}/x; exit 3"])
    assert written(tmp_path / "x")
    assert time.monotonic() - begun < 60


def test_nobody_waits_for_what_computes() -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", COMPUTES], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 130
    assert done.stderr == "kernsmith: stopped; the same command goes on from here\n"
    assert time.monotonic() - began < 100


def test_a_failure_waits_for_what_computes() -> None:
    """The engine goes on behind it, and nobody must be writing then."""
    ended: list[int] = []
    begun = threading.Event()

    def computes() -> None:
        begun.set()
        time.sleep(PATIENCE_SECONDS + 0.5)
        ended.append(1)

    with pytest.raises(ValueError, match="no"), threads(1) as pool:
        pool.submit(computes)
        assert begun.wait(60)
        raise ValueError("no")
    assert ended == [1]
