# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation over a serial line, with guests that are scripts."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernsmith.machine.serial_line import NoAnswer, SerialLine


@dataclass
class Other:
    """The other end of a line. Like QEMU's, it waits for nobody who listens."""

    ears: int
    mouth: int

    def say(self, text: bytes) -> int:
        return os.write(self.mouth, text)

    def hear(self) -> Iterator[bytes]:
        """What is typed, line by line."""
        with open(self.ears, "rb", buffering=0, closefd=False) as typed:
            yield from iter(typed.readline, b"")


@contextmanager
def guest(folder: Path, script: Callable[[Other], object]) -> Iterator[SerialLine]:
    """A line at whose other end a script talks."""
    with SerialLine(folder / "line", folder / "console.log") as line:
        ears = os.open(folder / "line.in", os.O_RDONLY)
        mouth = os.open(folder / "line.out", os.O_RDWR | os.O_NONBLOCK)

        def talk() -> None:
            try:
                script(Other(ears, mouth))
            finally:
                os.close(ears)
                os.close(mouth)

        thread = threading.Thread(target=talk)
        thread.start()
        yield line
        line.say("the end")
        thread.join()


def shell(other: Other) -> None:
    """Echoes what is typed, as a terminal does, and answers as a shell does."""
    other.say(b"root@kernsmith:~# ")
    for raw in other.hear():
        text = raw.decode().strip()
        if text == "the end":
            return
        other.say(raw.replace(b"\n", b"\r\n"))
        begin, command, end = text.split("; ")
        for word in (begin, command, end):
            said = word.removeprefix("echo ").replace("''", "").replace("$?", "0")
            other.say(f"{'7.3.4' if word == 'uname -r' else said}\r\n".encode())
        other.say(b"root@kernsmith:~# ")


def test_a_command_gives_what_it_printed_and_its_status(tmp_path: Path) -> None:
    with guest(tmp_path, shell) as line:
        line.wait_for("a shell", r"# $", seconds=10)
        assert line.run("uname -r", seconds=10) == (0, "7.3.4")
        assert line.run("true", seconds=10) == (0, "true")
    assert b"root@kernsmith:~# " in (tmp_path / "console.log").read_bytes()


def test_the_first_that_is_heard_decides(tmp_path: Path) -> None:
    def boots(other: Other) -> None:
        other.say(b"loading\r\n(initramfs) and much later login: ")
        next(other.hear())

    with guest(tmp_path, boots) as line:
        which, match = line.wait_for("a prompt", r"login: $", r"\(initramfs\)", seconds=10)
        assert (which, match[0]) == (1, "(initramfs)")
        assert line.wait_for("a prompt", r"login: $", seconds=10)[0] == 0


def test_who_says_nothing_is_waited_for_no_longer_than_that(tmp_path: Path) -> None:
    sent = threading.Event()

    def silent(other: Other) -> None:
        other.say(b"one\r\n\x1b[0mtwo")
        sent.set()
        next(other.hear())

    with guest(tmp_path, silent) as line:
        assert sent.wait(60)
        with pytest.raises(NoAnswer) as caught:
            line.wait_for("a login prompt", "login: ", seconds=0.1)
        assert str(caught.value) == (
            "a login prompt did not come in 0.1 s; it last said:\n    one\n    [0mtwo"
        )


def test_a_guest_that_ends_is_told(tmp_path: Path) -> None:
    with (
        guest(tmp_path, lambda other: None) as line,
        pytest.raises(NoAnswer, match="a shell did not come: the guest has ended; it said nothing"),
    ):
        line.wait_for("a shell", "# ", seconds=10)


def test_what_is_said_letter_by_letter_while_nobody_listens_is_heard_later(tmp_path: Path) -> None:
    letters = 20_000
    said = threading.Event()

    def panics(other: Other) -> None:
        assert all(other.say(b"x") == 1 for _ in range(letters))
        other.say(b"\n")
        said.set()
        next(other.hear())

    with guest(tmp_path, panics) as line:
        assert said.wait(60)
        _, match = line.wait_for("all of it", "(x+)\n", seconds=10)
        assert len(match[1]) == letters


def test_an_emulator_that_ends_before_it_opens_the_line_is_told(tmp_path: Path) -> None:
    with SerialLine(tmp_path / "line", tmp_path / "log", lambda: False) as line:
        began = time.monotonic()
        with pytest.raises(NoAnswer, match="a shell did not come: the guest has ended"):
            line.wait_for("a shell", "# ", seconds=60)
        assert time.monotonic() - began < 30
