# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether this host can boot kernels on its own processor, and how QEMU is told to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.machine.conditions import Condition
from kernsmith.machine.kvm_probe import boot_probe

DEVICE = Path("/dev/kvm")
# All that the host's processor has, the counter that no power state stops among it. Under another
# hypervisor QEMU may fail to set the MSR of arch-capabilities.
_CPUS = ("host,migratable=off", "host,migratable=off,arch-capabilities=off")
_LARGE = "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
_TRANSPARENT = "sys/kernel/mm/transparent_hugepage/enabled"
_LARGE_MIB = 2

RESERVED, TRANSPARENT, SMALL = "reserved 2 MiB", "transparent 2 MiB", "4 KiB"
"""Pages of the host that the guest's memory is in."""


class NoKvm(UserError):
    """This host cannot do it. detail: why, in words; remedy: what would help."""

    def __init__(self, detail: str, remedy: str) -> None:
        self.detail = detail
        self.remedy = remedy
        super().__init__(f"the machine kvm cannot be used here: {detail}; {remedy}")


def kvm_processor(device: Path = DEVICE) -> str:
    """What QEMU's `-cpu` is under KVM, with which a small guest of our own has booted here.

    Raises:
        NoKvm: there is no KVM, it may not be opened, or no guest boots.
    """
    if not device.exists():
        raise NoKvm(
            f"there is no {device}",
            "modprobe kvm_intel or kvm_amd, or turn virtualisation on in the firmware",
        )
    if not os.access(device, os.R_OK | os.W_OK):
        raise NoKvm(
            f"{device} may not be opened by you",
            'sudo usermod -aG kvm "$USER", then log in again',
        )
    for cpu in _CPUS:
        booted = boot_probe(["-accel", "kvm", "-cpu", cpu])
        if booted.ok:
            return cpu
    raise NoKvm(
        f"{device} opens, but {booted.detail}",
        "use --machine tcg here; KVM needs a host with full hardware virtualisation",
    )


@dataclass(frozen=True)
class Memory:
    """What the guest's memory is in. pages: see `RESERVED`."""

    pages: str

    def options(self, mib: int) -> list[str]:
        """QEMU's options for so much of it, all of it there before the guest starts."""
        backend = "memory-backend-ram"
        if self.pages == RESERVED:
            backend = f"memory-backend-memfd,hugetlb=on,hugetlbsize={_LARGE_MIB}M"
        return ["-object", f"{backend},id=memory,size={mib}M,prealloc=on",
                "-machine", "memory-backend=memory"]  # fmt: skip

    @property
    def condition(self) -> Condition:
        """As conditions of a machine tell it."""
        warning = (
            "the guest's memory is in small pages of this host, which cost it TLB misses: "
            "sudo sysctl vm.nr_hugepages=512, or echo madvise > "
            f"/{_TRANSPARENT}"
        )
        return Condition("guest_pages", self.pages, warning if self.pages == SMALL else "")


def find_memory(mib: int, root: Path = Path("/")) -> Memory:
    """The largest pages that there are for so much memory. root: in which `sys` is looked at."""
    free = _text(root / _LARGE)
    if free.isdigit() and int(free) * _LARGE_MIB >= mib:
        return Memory(RESERVED)
    # QEMU advises the kernel to take large ones (madvise), where it takes advice.
    advised = any(f"[{word}]" in _text(root / _TRANSPARENT) for word in ("always", "madvise"))
    return Memory(TRANSPARENT if advised else SMALL)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
