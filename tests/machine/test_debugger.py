# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's debugger: a guest is stopped at an instruction, or ends before it comes there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job
from kernsmith.machine.debugger import Debugger, NotReached, connected_debugger
from kernsmith.machine.tcg import open_machine
from kernsmith.threads import threads

RIP = 0x10
NOWHERE = 0x6B00_0000


@contextmanager
def stopped(kernel: Kernel, folder: Path) -> Iterator[Debugger]:
    """The debugger of a guest that has not begun."""
    machine = open_machine("skylake")
    (pipe,) = load_catalogue().select(["pipe"])
    job = Job(pipe, folder)
    command = machine.command(kernel.vmlinux, job, machine.initramfs(job), {})
    command = [*command[: command.index("-plugin")], "-S"]
    command += ["-gdb", f"unix:{folder}/line,server=on,wait=off"]
    with threads(1) as pool:
        qemu = pool.submit(process.run, command, log=folder / "console.log", timeout=300)
        with connected_debugger(folder / "line") as debugger:
            yield debugger
        qemu.result()


def address_of(kernel: Kernel, symbol: str) -> int:
    lines = (line.split() for line in kernel.system_map.read_text().splitlines())
    return next(int(words[0], 16) for words in lines if words[2] == symbol)


@pytest.mark.kernel
def test_a_guest_stops_before_an_instruction_and_goes_on(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    address = address_of(micro_kernel, "run_init_process")
    with stopped(micro_kernel, tmp_path) as debugger:
        debugger.stop_at(address, 300)
        assert bytes.fromhex(debugger.ask(f"p{RIP:x}")) == address.to_bytes(8, "little")
        assert "kernsmith: begin" not in (tmp_path / "console.log").read_text()
        assert debugger.ask("D") == "OK"
    assert "kernsmith: end pipe status=0" in (tmp_path / "console.log").read_text()


@pytest.mark.kernel
def test_a_guest_that_never_comes_there_has_ended(micro_kernel: Kernel, tmp_path: Path) -> None:
    with stopped(micro_kernel, tmp_path) as debugger:
        with pytest.raises(NotReached) as caught:
            debugger.stop_at(NOWHERE, 300)
        assert caught.value.ended


@pytest.mark.kernel
def test_its_time_may_be_over(micro_kernel: Kernel, tmp_path: Path) -> None:
    over = pytest.raises(NotReached, match="not in 0 s")
    with over as caught, stopped(micro_kernel, tmp_path) as debugger:
        debugger.stop_at(NOWHERE, 0)
    assert not caught.value.ended
