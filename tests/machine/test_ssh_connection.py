# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands by ssh, at a real sshd: what goes well, and what is said when it does not."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.machine import find_machine
from kernsmith.machine.remote.connection import (
    Connection,
    RemoteFailed,
    Unreachable,
    patiently,
    read_options,
)
from kernsmith.machine.remote.look import read_look, runner_program
from ssh_server import Server, make_key, needs_sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    needs_sshd()
    made = Server(tmp_path_factory.mktemp("sshd"))
    with made.running():
        yield made


def connection(server: Server, key: str = "key") -> Connection:
    return Connection("target", server.client(key))


def test_a_script_runs_there_and_what_it_prints_comes_back(server: Server) -> None:
    reached = connection(server)
    assert reached.run("echo 'a  b'; cat", "a test", given=b"given") == "a  b\ngiven"


def test_a_file_is_there_whole(server: Server, tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    target = tmp_path / "with 'quotes'"
    connection(server).send(content, str(target), "a test")
    assert target.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_command_that_fails_says_why(server: Server) -> None:
    with pytest.raises(RemoteFailed) as caught:
        connection(server).run("ls /nothing-here; exit 7", "looking")
    assert caught.value.returncode == 7
    assert str(caught.value) == (
        "target: looking failed: ls: cannot access '/nothing-here': No such file or directory"
    )


def test_a_full_disk_there_is_told_as_such(server: Server) -> None:
    with pytest.raises(UserError, match=r"the disk of target is full \(copying\): free some"):
        connection(server).run("cat /proc/cpuinfo > /dev/full", "copying")


def test_who_has_no_key_there_is_never_asked_for_a_password(server: Server) -> None:
    with pytest.raises(UserError, match="target lets nobody in without a question"):
        connection(server, "other").run("true", "a test")


def test_a_host_that_nobody_knows_is_not_trusted(server: Server) -> None:
    (server.folder / "known").write_text("")
    with pytest.raises(UserError, match="nobody has confirmed the key of target yet"):
        connection(server).run("true", "a test")
    server.know()


def test_a_host_with_another_key_is_not_trusted(server: Server) -> None:
    known = server.folder / "known"
    make_key(server.folder / "changed")
    key = (server.folder / "changed.pub").read_text()
    known.write_text(f"[127.0.0.1]:{server.port} {key}")
    with pytest.raises(UserError, match="the key of target is not the one that known_hosts has"):
        connection(server).run("true", "a test")
    server.know()


def test_a_host_without_an_address_is_none() -> None:
    with pytest.raises(UserError, match=r"there is no host nothing\.invalid"):
        Connection("nothing.invalid", ("-F", "/dev/null")).run("true", "a test")


def test_a_wrong_option_is_the_users() -> None:
    with pytest.raises(UserError, match="ssh does not take its configuration"):
        Connection("localhost", ("-o", "NoSuchOption=1")).run("true", "a test")


def test_a_machine_that_comes_up_late_is_waited_for(tmp_path: Path) -> None:
    needs_sshd()
    late = Server(tmp_path)
    reached = connection(late)
    with pytest.raises(Unreachable, match=r"target does not answer: .*Connection refused"):
        reached.run("true", "a test")
    answers: list[str] = []
    patient = Connection("target", reached.options, patience=60.0)
    waiting = threading.Thread(target=lambda: answers.append(patient.run("echo up", "a test")))
    waiting.start()
    time.sleep(1)
    with late.running():
        waiting.join()
    assert answers == ["up\n"]


def test_what_takes_too_long_counts_as_lost(server: Server) -> None:
    with pytest.raises(Unreachable, match=r"a nap did not end in 1 s"):
        connection(server).run("sleep 30", "a nap", seconds=1.0)


def test_patience_waits_for_what_is_wanted_and_ends() -> None:
    values = iter([1, 2, 3])
    assert patiently(lambda: next(values), 60.0, lambda found: found == 3) == 3
    with pytest.raises(Unreachable, match="stays as it is"):
        patiently(lambda: 1, 0.0, lambda found: False)


def test_a_look_there_is_a_look(server: Server) -> None:
    told = connection(server).run(f"{runner_program()} look", "a look")
    assert read_look(told.encode()).boot == Path("/proc/sys/kernel/random/boot_id").read_text()[:36]


def test_a_machine_that_boots_no_kernels_is_told_at_once(server: Server, tmp_path: Path) -> None:
    """This one has no kexec-tools; where it has, something else is in the way or nothing is."""
    if any(Path(folder, "kexec").exists() for folder in ("/sbin", "/usr/sbin")):
        pytest.skip("kexec-tools are installed here")
    if os.geteuid() != 0:
        pytest.skip("this user is not root here")
    options = " ".join(server.client())
    settings = {"ssh_options": options, "folder": str(tmp_path), "boot_seconds": 5.0}
    with pytest.raises(UserError) as caught:
        find_machine("ssh:target", "", settings)
    assert str(caught.value) == (
        "target has no kexec program: install kexec-tools there (sudo apt-get install kexec-tools)"
    )


def test_options_are_words() -> None:
    assert read_options("-p 22 -i '/a b'") == ("-p", "22", "-i", "/a b")
    assert read_options("-F ~/config") == ("-F", str(Path("~/config").expanduser()))
    with pytest.raises(UserError, match=r"machine\.settings\.ssh_options: No closing quotation"):
        read_options("-i 'x")


def test_a_host_is_no_option() -> None:
    with pytest.raises(UserError, match="is not the name of a host"):
        find_machine("ssh:-oProxyCommand=true", "")
    with pytest.raises(UserError, match="write ssh:HOST"):
        find_machine("ssh", "")
