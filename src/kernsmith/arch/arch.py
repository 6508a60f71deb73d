# SPDX-License-Identifier: GPL-2.0-or-later
"""What an architecture is: the words that building, booting and judging its kernels takes."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Qemu:
    """How QEMU is started for it.

    program: QEMU itself. machine: its `-machine`, empty for QEMU's own choice.
    cpu: its `-cpu` without noise: all that TCG can do, but what it does otherwise than processors.
    """

    program: str
    machine: str
    cpu: str

    @property
    def options(self) -> tuple[str, ...]:
        """QEMU's options for machine and processor."""
        return (*(("-machine", self.machine) if self.machine else ()), "-cpu", self.cpu)

    @staticmethod
    def processors(vcpus: int) -> str:
        """The value of `-smp`: several are sockets of one core each, for the table that SeaBIOS
        writes of them for kernels without ACPI has one processor of each socket."""
        return "1" if vcpus == 1 else f"{vcpus},sockets={vcpus},cores=1,threads=1"


@dataclass(frozen=True)
class BootWords:
    """Words of the kernel's command line (Documentation/admin-guide/kernel-parameters.txt).

    console: the device of QEMU's first serial port. reset: how the kernel ends QEMU.
    untimed: switch calibrations off that a virtual clock makes long.
    """

    console: str
    reset: str
    untimed: str

    @property
    def words(self) -> str:
        """What every boot needs: output on the serial port, and an end after a panic."""
        return f"console={self.console} panic=-1 {self.reset}"

    @property
    def real_words(self) -> str:
        """What a boot needs whose runs are compared: nothing is placed by chance."""
        return f"console={self.console} nokaslr norandmaps panic=-1 {self.reset} loglevel=4"

    @property
    def exact_words(self) -> str:
        """What a boot without noise needs: besides, nothing is calibrated."""
        return f"{self.real_words} {self.untimed}"


@dataclass(frozen=True)
class Disk:
    """A file in the guest's memory that its kernel takes for a disk, `/dev/mtdblock0`.

    Reading such a disk is copying memory: nothing waits, and no thread of the host decides when
    something is there.

    address: where it begins, behind all memory. word: what the kernel is told, with `{size}` and
        `{address}` (drivers/mtd/devices/phram.c). kept_out: what a kernel is told besides that
        would take memory into use that is plugged in, the disk's too.
    """

    address: int
    word: str
    kept_out: str

    def options(
        self, image: str, size: int, memory: int, behind: tuple[str, int] | None = None
    ) -> list[str]:
        """QEMU's options for it. image: its path. size: in bytes. memory: the guest's, in MiB.

        behind: a file whose content is the end of the disk, and its size: of a guest that is kept
            nothing of the disk is, so that its end may be another one later.
        """
        parts = [(image, size)] if behind is None else [(image, size), behind]
        kept = "share=off,readonly=on,rom=off" if behind is None else "share=on,readonly=on"
        whole = sum(each for _, each in parts)
        told = ["-m", f"{memory}M,slots={len(parts)},maxmem={memory + (whole >> 20)}M"]
        address = self.address
        for name, (path, extent) in zip(("root", "behind"), parts, strict=False):
            told += [
                "-object", f"memory-backend-file,id={name},mem-path={path.replace(',', ',,')},"
                f"size={extent},{kept}",
                "-device", f"pc-dimm,memdev={name},addr={address:#x}",
            ]  # fmt: skip
            address += extent
        return told

    def words(self, size: int) -> str:
        """The kernel's word for it."""
        return self.word.format(size=f"{size:#x}", address=f"{self.address:#x}")


@dataclass(frozen=True)
class Target:
    """What compilers are told and asked.

    triple: as Debian and clang's `--target=` write it.
    flags: those of every kernel file that decide which other flags a compiler takes.
    march: the least `-march=`. debian: Debian's name of the architecture.
    loader: the dynamic loader of its C library, a file name.
    returns: the instruction that returns from a function.
    """

    triple: str
    flags: tuple[str, ...]
    march: str
    debian: str
    loader: str
    returns: bytes

    def is_of(self, machine: str) -> bool:
        """Whether a compiler that calls its target so (`-dumpmachine`) compiles for it."""
        return machine.partition("-")[0] == self.triple.partition("-")[0]


@dataclass(frozen=True)
class Registers:
    """Registers that a kernel keeps for user space: vectors, floating point.

    instruction: a line of llvm-objdump's that names one.
    folders: where a kernel has assembly for them by hand (or files that have).
    assembly, c: a file of assembly, of C, that does. called: what such assembly calls or jumps to.
    flag: a flag by which kbuild lets compilers use them in one file (CC_FLAGS_FPU).
    """

    instruction: re.Pattern[str]
    folders: tuple[str, ...]
    assembly: re.Pattern[str]
    c: re.Pattern[str]
    called: re.Pattern[str]
    flag: re.Pattern[str]


@dataclass(frozen=True)
class Arch:
    """An architecture.

    name: as variants and kernels' keys have it.
    kbuild: kbuild's ARCH. srctree: kbuild's SRCARCH, the folder below `arch/`.
    booted: the image that QEMU boots: a target of make, and the file below kbuild's output.
    image: the image that a boot loader takes: a target of make. image_file: its file.
    switch: the function that changes from one thread's stack to another's.
    processors: config symbols, any of which has a kernel find those that QEMU gives it.
    """

    name: str
    kbuild: str
    srctree: str
    booted: str
    image: str
    image_file: str
    switch: str
    processors: tuple[str, ...]
    qemu: Qemu
    boot: BootWords
    disk: Disk
    target: Target
    registers: Registers

    @property
    def environment(self) -> dict[str, str]:
        """What scripts of a kernel source see of it."""
        return {"ARCH": self.kbuild, "SRCARCH": self.srctree}

    @property
    def images(self) -> tuple[str, ...]:
        """What make builds: the ELF image, which every architecture has, and these two."""
        return tuple(dict.fromkeys(("vmlinux", self.booted, self.image)))
