# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out by booting whether an accelerator can run a kernel.

`/dev/kvm` may open and the guest still die in its first instructions of long mode (nested
virtualisation without the hardware's help). So a guest of our own (`probe.S`) does what a booting
kernel does; and when kernsmith has built a kernel already, that one is booted as well.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import ProcessTimedOut

_ARCH = find_arch()
QEMU = _ARCH.qemu.program
PROBE = Path(__file__).with_name("probe.S")
# isa-debug-exit ends QEMU with twice the value that the guest wrote, plus one.
_EXIT_CODE = 0x10 << 1 | 1
_PROBE_SECONDS = 20.0
_KERNEL_SECONDS = 30.0
_STEPS = {
    "": "before its first instruction",
    "b": "when it turned paging on",
    "bp": "when it entered long mode",
    "bpl": "in its first exception",
    "bple": "when it wrote the MSRs of system calls and per-CPU data",
    "bplem": "while it waited for the local APIC's timer",
}
_BOOTED = re.compile(r"Unable to mount root fs|No working init found|Run /\S+ as init process")
_FATAL = re.compile(r"KVM internal error|KVM: entry failed|hardware error")


@dataclass(frozen=True)
class Booted:
    """Whether the guest came to its end, and in a few words how it went."""

    ok: bool
    detail: str


class _GaveUp(Exception):
    """The machine said that the guest cannot go on (QEMU would then wait for a debugger)."""


def boot_probe(accelerator: Sequence[str]) -> Booted:
    """Boot the guest of our own.

    accelerator: QEMU's options that choose accelerator, CPU and plugins.

    Raises:
        ProgramMissing: QEMU, or gcc to assemble the guest.
        ProcessFailed: the guest cannot be assembled.
    """
    with tempfile.TemporaryDirectory(prefix="kernsmith-") as folder:
        image = _assemble(Path(folder))
        options = ["-debugcon", "stdio", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        printed, end = _boot(image, [*accelerator, "-m", "64", *options], _PROBE_SECONDS)
    steps = next((found for line in printed if (found := re.match(r"bp?l?e?m?", line))), None)
    if "bplemok" in printed and end == _EXIT_CODE:
        return Booted(True, "boots a guest in long mode with exceptions and interrupts")
    reason = _reason(printed, end)
    return Booted(False, f"the guest died {_STEPS[steps[0] if steps else '']}: {reason}")


def boot_kernel(vmlinux: Path, accelerator: Sequence[str]) -> Booted:
    """Boot a kernel without a file system: it is good when it gets as far as missing that."""
    options = ["-m", "256", "-serial", "stdio", "-append", _ARCH.boot.words]
    printed, end = _boot(vmlinux, [*accelerator, *options], _KERNEL_SECONDS)
    if any(_BOOTED.search(line) for line in printed):
        return Booted(True, f"boots the kernel {vmlinux.parent.name}")
    return Booted(False, f"the kernel {vmlinux} does not come to its end: {_reason(printed, end)}")


def _assemble(folder: Path) -> Path:
    image = folder / "probe"
    link = "-Wl,-Ttext=0x100000,-z,max-page-size=4096,--build-id=none,-e,start"
    command: list[str | Path] = ["gcc", "-nostdlib", "-static", "-no-pie", link, "-o", image, PROBE]
    process.run(command, log=None, timeout=60)
    return image


def _boot(image: Path, options: Sequence[str], seconds: float) -> tuple[list[str], int | None]:
    """Lines printed, and QEMU's exit code: None when it had to be stopped."""
    printed: list[str] = []

    def listen(line: str) -> None:
        printed.append(line)
        if _FATAL.search(line):
            raise _GaveUp

    command: list[str | Path] = [QEMU, "-nodefaults", "-display", "none", "-no-reboot"]
    command += ["-kernel", image, *options]
    try:
        done = process.run(command, log=None, timeout=seconds, on_line=listen, check=False)
    except (_GaveUp, ProcessTimedOut):
        return printed, None
    return printed, done.returncode


def _reason(printed: Sequence[str], end: int | None) -> str:
    for line in printed:
        if found := re.search(
            r"(KVM internal error.*|KVM: entry failed.*|qemu-system-\S+: .*)", line
        ):
            return found[1].strip()
    return "no end in time" if end is None else f"QEMU ended with code {end}"
