# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation over a serial line, with guests that are scripts."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernsmith.machine.serial_line import NoAnswer, SerialLine, connect


@contextmanager
def guest(folder: Path, script: Callable[[socket.socket], None]) -> Iterator[SerialLine]:
    """A line at whose other end a script talks."""
    here, there = socket.socketpair()

    def talk() -> None:
        with there:
            script(there)

    thread = threading.Thread(target=talk)
    thread.start()
    with SerialLine(here, folder / "console.log") as line:
        yield line
    thread.join()


def shell(line: socket.socket) -> None:
    """Echoes what is typed, as a terminal does, and answers as a shell does."""
    line.sendall(b"root@kernsmith:~# ")
    with line.makefile("rb") as typed:
        for raw in typed:
            text = raw.decode().strip()
            line.sendall(raw.replace(b"\n", b"\r\n"))
            begin, command, end = text.split("; ")
            for word in (begin, command, end):
                said = word.removeprefix("echo ").replace("''", "").replace("$?", "0")
                line.sendall(f"{'7.3.4' if word == 'uname -r' else said}\r\n".encode())
            line.sendall(b"root@kernsmith:~# ")


def test_a_command_gives_what_it_printed_and_its_status(tmp_path: Path) -> None:
    with guest(tmp_path, shell) as line:
        line.wait_for("a shell", r"# $", seconds=10)
        assert line.run("uname -r", seconds=10) == (0, "7.3.4")
        assert line.run("true", seconds=10) == (0, "true")
    assert b"root@kernsmith:~# " in (tmp_path / "console.log").read_bytes()


def test_the_first_that_is_heard_decides(tmp_path: Path) -> None:
    def boots(line: socket.socket) -> None:
        line.sendall(b"loading\r\n(initramfs) and much later login: ")
        line.recv(1)

    with guest(tmp_path, boots) as line:
        which, match = line.wait_for("a prompt", r"login: $", r"\(initramfs\)", seconds=10)
        assert (which, match[0]) == (1, "(initramfs)")
        assert line.wait_for("a prompt", r"login: $", seconds=10)[0] == 0
        line.say("")


def test_who_says_nothing_is_waited_for_no_longer_than_that(tmp_path: Path) -> None:
    sent = threading.Event()

    def silent(line: socket.socket) -> None:
        line.sendall(b"one\r\n\x1b[0mtwo")
        sent.set()
        line.recv(1)

    with guest(tmp_path, silent) as line:
        assert sent.wait(60)
        with pytest.raises(NoAnswer) as caught:
            line.wait_for("a login prompt", "login: ", seconds=0.1)
        assert str(caught.value) == (
            "a login prompt did not come in 0.1 s; it last said:\n    one\n    [0mtwo"
        )
        line.say("")


def test_a_guest_that_ends_is_told(tmp_path: Path) -> None:
    with (
        guest(tmp_path, lambda line: None) as line,
        pytest.raises(NoAnswer, match="a shell did not come: the guest has ended; it said nothing"),
    ):
        line.wait_for("a shell", "# ", seconds=10)


def test_a_socket_that_nobody_opens_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="QEMU opens no serial line: No such file"):
        connect(tmp_path / "line", tmp_path / "log", seconds=0.1)
