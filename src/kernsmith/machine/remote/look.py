# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine elsewhere is like: what its runner tells, looked at as if it were here."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from kernsmith.errors import KernsmithError
from kernsmith.machine.conditions import Condition, Throttled, conditions, throttled
from kernsmith.paths import shipped

_HEAD = re.compile(
    rb"(build-id|people|root-drivers|root-file-system|network-drivers|/[\w./-]+) (\d{1,7})\n"
)
# Also of kinds of cores: cpu_core and cpu_atom.
_PMU = "/sys/bus/event_source/devices/cpu"
_LOCKED = re.compile(r"\[(integrity|confidentiality)\]")


@dataclass(frozen=True)
class Look:
    """A machine at one moment.

    host: names it without telling its name. boot: the boot's random name. build_id, release: of the
        kernel that runs. command: the words of its command line.
    processors: the numbers of those that are online. counts: whether they count events (a PMU).
    forbidden: why it boots no kernel by kexec; empty where it does.
    root, network: what its root file system and its way to others are driven by, as far as it is
        told. people: how many are logged in there with a terminal or a display.
    """

    host: str
    boot: str
    build_id: str
    release: str
    command: tuple[str, ...]
    processors: tuple[int, ...]
    conditions: tuple[Condition, ...]
    throttled: Throttled
    forbidden: str
    counts: bool = False
    root: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    people: int = 0

    def value(self, condition: str) -> str:
        """What a condition is; empty where it is not told."""
        return next((each.value for each in self.conditions if each.name == condition), "")


def runner_program() -> Path:
    """Where the build puts the runner of real machines."""
    return shipped("build", "guest", "kernsmith-runner")


def read_look(told: bytes) -> Look:
    """From what `kernsmith-runner look` says.

    Raises:
        KernsmithError: it says nothing of a boot.
    """
    files = dict(_files(told))

    def text(path: str) -> str:
        return files.get(path, b"").decode("utf-8", "replace").strip()

    boot = text("/proc/sys/kernel/random/boot_id")
    if not boot:
        raise KernsmithError(
            "the runner there does not tell which boot it is in: is /proc mounted?"
        )
    with tempfile.TemporaryDirectory(prefix="kernsmith-look-") as name:
        root = Path(name)
        for path, content in files.items():
            if path.startswith("/") and ".." not in path:
                place = root / path.removeprefix("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        seen, heat = conditions(root), throttled(root)
    return Look(
        host=sha256(text("/etc/machine-id").encode()).hexdigest()[:16],
        boot=boot,
        build_id=text("build-id"),
        release=text("/proc/sys/kernel/osrelease"),
        command=tuple(text("/proc/cmdline").split()),
        processors=read_cpu_list(text("/sys/devices/system/cpu/online")) or (0,),
        conditions=seen,
        throttled=heat,
        forbidden=_forbidden(
            text("/sys/kernel/security/lockdown"), text("/proc/sys/kernel/kexec_load_disabled")
        ),
        counts=any(path.startswith(_PMU) for path in files),
        root=(*text("root-drivers").split(), *text("root-file-system").split()),
        network=tuple(text("network-drivers").split()),
        people=int(text("people") or 0),
    )


def read_cpu_list(text: str) -> tuple[int, ...]:
    """The numbers in the kernel's list of processors: `0-3,8`."""
    found: list[int] = []
    for word in filter(None, text.split(",")):
        first, _, last = word.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _files(told: bytes) -> Iterator[tuple[str, bytes]]:
    place = 0
    while head := _HEAD.match(told, place):
        end = head.end() + int(head[2])
        yield head[1].decode(), told[head.end() : end]
        place = end + 1


def _forbidden(lockdown: str, disabled: str) -> str:
    if found := _LOCKED.search(lockdown):
        return (
            f"its kernel is locked down ({found[1]}), which secure boot does: it loads no kernel "
            "that its maker has not signed; turn secure boot off in the firmware, or leave "
            "lockdown= away from the command line"
        )
    if disabled == "1":
        return "kernel.kexec_load_disabled is 1 there, which stays until it is rebooted"
    return ""
