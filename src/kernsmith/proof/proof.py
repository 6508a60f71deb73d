# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of a package where people install it.

A fresh Debian gets it by dpkg, with the initramfs that its own tool makes; firmware starts GRUB
from the disk, GRUB the kernel, that the initramfs, that systemd. Somebody logs in over the serial
line, asks the kernel what it is, and has it run workloads.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import KernsmithError, UserError
from kernsmith.files import copy_file
from kernsmith.guest.workloads import guest_program
from kernsmith.kernel.artifact import file_digest
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.note import FOLDER, NOTE, Note, read_note
from kernsmith.kernel.package_kind import DEB, KINDS, kind_of
from kernsmith.machine.running import build_id_of
from kernsmith.machine.serial_line import SerialLine
from kernsmith.proof.debian_disk import PASSWORD, Progress, make_disk
from kernsmith.proof.firmware import FIRMWARE, Firmware
from kernsmith.proof.initramfs_tool import INITRAMFS_TOOLS, InitramfsTool
from kernsmith.threads import threads

BOOT_SECONDS = 1800.0
WORKLOADS = ("pipe", "file", "fork")
CONSOLE = "console.log"

_COMMAND_SECONDS = 300.0
_MEMORY_MIB = 1024
# Without these, as `y` or `m`, Debian does not boot from this disk and let somebody log in here.
_NEEDS = (
    "BINFMT_ELF", "BINFMT_SCRIPT", "BLK_DEV_INITRD", "BLOCK", "CGROUPS", "DEVTMPFS", "EPOLL",
    "EXT4_FS", "FHANDLE", "INOTIFY_USER", "MULTIUSER", "PCI", "PROC_FS", "SERIAL_8250_CONSOLE",
    "SIGNALFD", "SYSFS", "TIMERFD", "TMPFS", "UNIX", "VIRTIO_BLK", "VIRTIO_PCI",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """One thing that the booted system was asked. expected: empty where anything is right."""

    what: str
    seen: str
    expected: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is as expected."""
        return not self.expected or self.seen == self.expected


@dataclass(frozen=True)
class Proof:
    """What was found. seconds: from power on to the login. console: the whole conversation."""

    package: Path
    note: Note
    facts: tuple[Fact, ...]
    seconds: float
    console: Path

    @property
    def holds(self) -> bool:
        """Whether everything is as expected."""
        return all(fact.holds for fact in self.facts)


def prove(
    package: Path,
    folder: Path,
    workloads: Sequence[str] = WORKLOADS,
    progress: Progress = lambda what, share: None,
    firmware: str = "bios",
    initramfs: str = "initramfs-tools",
) -> Proof:
    """Install a Debian package of a kernel, boot it from a disk, log in, and run workloads.

    folder: gets the console's log. workloads: of the guest program's catalogue. firmware: `bios` or
        `uefi`. initramfs: what makes it, `initramfs-tools` or `dracut`.

    Raises:
        UserError: no such package, or its kernel cannot boot such a disk; what makes disks is not
            installed.
        KernsmithError: it cannot be installed, or does not boot; the message has its last lines.
    """
    if kind_of(package) is not KINDS[DEB]:
        raise UserError(f"{package} is proved in a Debian: give the .deb")
    if not package.is_file():
        raise UserError(f"there is no package {package}")
    program = find_arch().qemu.program
    process.find(program)
    by, tool = FIRMWARE[firmware], INITRAMFS_TOOLS[initramfs]
    with tempfile.TemporaryDirectory(prefix="kernsmith-proof-", ignore_cleanup_errors=True) as name:
        work = Path(name)
        # Without root's rights, the root's user 0 is somebody else, who writes here.
        work.chmod(0o755 if os.geteuid() == 0 else 0o777)
        by.options(work)  # what is missing is told before anything is installed
        note, digest = _read_package(package, work / "package", by)
        disk = make_disk(package, note.release, [guest_program()], work, by, tool, progress)
        progress("booting it", None)
        console = work / CONSOLE
        try:
            facts, seconds = _booted(
                disk, console, by, lambda guest: _facts(guest, note, digest, workloads, by, tool)
            )
        finally:
            if console.exists():
                copy_file(console, folder / CONSOLE)
    return Proof(package, note, facts, seconds, (folder / CONSOLE).absolute())


def _read_package(package: Path, unpacked: Path, firmware: Firmware) -> tuple[Note, str]:
    """The note in a package, and the digest of its file; that its kernel can boot the disk."""
    process.run(KINDS[DEB].unpack(package, unpacked), timeout=_COMMAND_SECONDS)
    notes = list(unpacked.glob(f"lib/modules/*/{FOLDER}/{NOTE}"))
    if not notes:
        raise UserError(
            f"{package} says nothing of its kernel ({NOTE} beside the modules): make it with "
            "kernsmith package"
        )
    note = read_note(notes[0])
    image = unpacked / KINDS[DEB].image.format(release=note.release)
    if file_digest(image) != note.image_sha256:
        raise UserError(f"{package} has another image than the one that its note is of")
    symbols = parse_config((unpacked / f"boot/config-{note.release}").read_text(encoding="utf-8"))
    needs = sorted((*_NEEDS, *firmware.needs))
    missing = [f"CONFIG_{name}" for name in needs if symbols.get(name, "n") == "n"]
    if missing:
        raise UserError(
            f"the kernel of {package.name} cannot boot Debian from a disk here by {firmware.name}: "
            f"its config does not set {', '.join(missing)} (the shipped config disk does)"
        )
    return note, file_digest(notes[0])


def _booted(
    disk: Path, console: Path, firmware: Firmware, ask: Callable[[SerialLine], Iterator[Fact]]
) -> tuple[tuple[Fact, ...], float]:
    log = disk.with_name("qemu.log")
    with threads(1) as pool, SerialLine(disk.with_name("line"), console) as guest:
        command = machine(disk, guest.option, firmware)
        began = time.monotonic()
        qemu = pool.submit(
            process.run, command, log=log, timeout=2 * BOOT_SECONDS, capture=False, check=False
        )
        guest.alive = lambda: not qemu.done()
        _log_in(guest, console)
        seconds = time.monotonic() - began
        facts = tuple(ask(guest))
        guest.say("reboot -f")
        try:
            qemu.result(timeout=_COMMAND_SECONDS)
        except TimeoutError:
            raise KernsmithError(
                f"it did not end in {_COMMAND_SECONDS:.0f} s when it was told to: reboot -f"
                f"{last_lines(console)}"
            ) from None
    return facts, seconds


def machine(disk: Path, line: str, firmware: Firmware) -> list[str]:
    """QEMU's command line: a PC with a disk, started by its firmware, and a serial line.

    line: QEMU's `-serial`.
    """
    arch = find_arch()
    return [
        # An instruction takes 2 ns of the guest's clock: on a busy host nothing in it times out.
        arch.qemu.program, "-accel", "tcg,thread=single", "-icount", "shift=1",
        "-m", str(_MEMORY_MIB), "-smp", "1", "-cpu", "max",
        "-nodefaults", "-display", "none", "-no-reboot", *firmware.options(disk.parent),
        "-drive", f"file={str(disk).replace(',', ',,')},format=raw,if=virtio",
        "-serial", line,
    ]  # fmt: skip


def _log_in(guest: SerialLine, console: Path) -> None:
    failures = {
        1: "the initramfs did not find the root's file system",
        2: "the kernel panicked",
        3: "GRUB could not start it",
    }
    which, match = guest.wait_for(
        "a login prompt", r"login: $", r"\(initramfs\)|Entering emergency mode",
        r"Kernel panic - not syncing: [^\n]*", r"(?m)^error: [^\n]*", seconds=BOOT_SECONDS,
    )  # fmt: skip
    if which:
        raise KernsmithError(f"{failures[which]}: {match[0]}{last_lines(console)}")
    guest.say("root")
    guest.wait_for("the question for the password", r"[Pp]assword: ", seconds=_COMMAND_SECONDS)
    guest.say(PASSWORD)
    guest.wait_for("a shell", r"[#$] $", seconds=_COMMAND_SECONDS)
    # What is typed is not to come back, nor any colour.
    guest.run("stty -echo; bind 'set enable-bracketed-paste off'", seconds=_COMMAND_SECONDS)


def last_lines(console: Path, count: int = 15) -> str:
    """The end of a console, for the end of a message."""
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines()
    shown = ["".join(filter(str.isprintable, line)) for line in lines if line.strip()]
    return "".join(f"\n    {line}" for line in shown[-count:])


def _facts(
    guest: SerialLine,
    note: Note,
    digest: str,
    workloads: Sequence[str],
    firmware: Firmware,
    tool: InitramfsTool,
) -> Iterator[Fact]:
    def said(command: str) -> str:
        return guest.run(command, seconds=_COMMAND_SECONDS)[1]

    yield Fact("uname -r", said("uname -r"), note.release)
    yield Fact("uname -v", said("uname -v"), note.uname_v)
    notes = re.sub(r"\s", "", said("od -An -v -tx1 /sys/kernel/notes"))
    yield Fact("build id", _build_id(notes), note.build_id)
    path = f"/lib/modules/$(uname -r)/{FOLDER}/{NOTE}"
    yield Fact("the package's note", said(f"sha256sum < {path}").partition(" ")[0], digest)
    started = said("test -d /sys/firmware/efi && echo uefi || echo bios")
    yield Fact("firmware", started, firmware.name)
    root = " ".join(said("findmnt -no SOURCE,FSTYPE /").split())
    yield Fact("root", root, f"{firmware.root} ext4")
    yield Fact("modules", " ".join(sorted(said("cut -d' ' -f1 /proc/modules").split())))
    yield Fact("initramfs", said(f"{tool.sign} && echo {tool.name}"), tool.name)
    yield Fact("system", said("systemctl is-system-running --wait"))
    for name in workloads:
        printed = said(f"{guest_program().name} --run {name}")
        end = re.search(rf"kernsmith: end {re.escape(name)} (.*)", printed)
        yield Fact(f"workload {name}", end[1].strip() if end else printed[-200:], "status=0")


def _build_id(hexadecimal: str) -> str:
    try:
        return build_id_of(bytes.fromhex(hexadecimal))
    except ValueError:
        return ""
