# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder with a whole study's boots, which a computer goes through alone (`kernsmith-batch`).

Each boot is a batch (`machine.batch`) of its own, the same that the machine ssh brings to a host:

    kernsmith-batch     what the computer is to do with the folder, for its shell
    kernsmith-runner    what measures, one static program
    settings            for the shell; tune, last-words, make-initramfs: parts of its work
    checksums           of all this and the kernels
    kernels/NAME/       vmlinux; image, for boot entries; modules.tar, release
    boots/NUMBER/       kernel (which), plan; what comes out: results, before, after, last-words
    state               what happened, line by line
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from kernsmith.errors import KernsmithError, UserError
from kernsmith.files import write_text
from kernsmith.machine.batch import PLAN, RESULTS, Planned, Recorded, plan_text, read_results
from kernsmith.machine.protocol import FAILED, OK, PANIC
from kernsmith.machine.remote.look import Look, read_look, runner_program
from kernsmith.machine.remote.modules import installed_modules, kernel_of
from kernsmith.machine.remote.scripts import LAST_WORDS, MAKE_INITRAMFS, MARK, TUNE, WORDS
from kernsmith.machine.running import build_id_in

PROGRAM = "kernsmith-batch"
STATE = "state"
_KERNELS, _BOOTS, _CHECKSUMS = "kernels", "boots", "checksums"
_STEP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) (entering|up|ended|died|refused) (\S+) ?(.*)")
_DEAD = re.compile(r".*(?:Kernel panic|BUG:).*")

Enter = Literal["kexec", "grub"]


@dataclass(frozen=True)
class Manner:
    """How the computer is to go about it.

    initramfs, words: for every kernel. enter: by kexec, or by a boot entry that GRUB takes once.
    go_on: after a kernel that died. tune: a steady clock. pause: seconds in its own kernel between
    two others.
    """

    initramfs: str = ""
    words: tuple[str, ...] = ()
    enter: Enter = "kexec"
    go_on: bool = False
    tune: bool = True
    pause: int = 10


@dataclass(frozen=True)
class Stop:
    """One boot, as it was planned: an image and what is measured in it."""

    image: Path
    trials: tuple[Planned, ...]


@dataclass(frozen=True)
class Told:
    """What became of one boot.

    number: its folder's name. status: `ok`, `panic`, `failed`; empty while nothing did. reason: a
        sentence, where it is not ok. before, after: looks at the machine in it.
    trials: by name. entered: when, UTC. seconds: from there to its end.
    """

    number: str
    status: str
    reason: str
    trials: dict[str, Recorded]
    before: Look | None
    after: Look | None
    entered: str
    seconds: float


def pack(stops: Sequence[Stop], folder: Path, name: str, manner: Manner) -> None:
    """Write a folder that is not there yet.

    name: of the batch, in letters and digits.

    Raises:
        UserError: an image has no form that a boot entry could name.
        OSError: it cannot be written.
    """
    kernels = folder / _KERNELS
    kernels.mkdir(parents=True)
    width = max(3, len(str(len(stops))))
    for number, stop in enumerate(stops, 1):
        identity = _bring(stop.image, kernels, manner)
        place = folder / _BOOTS / f"{number:0{width}}"
        place.mkdir(parents=True)
        (place / "kernel").write_text(f"{identity}\n")
        (place / PLAN).write_text(plan_text(stop.trials))
    settings = {
        "BATCH": name,
        "KERNEL_WORDS": " ".join([*WORDS, *manner.words]),
        "INITRAMFS": manner.initramfs,
        "ENTER": manner.enter,
        "GO_ON": int(manner.go_on),
        "TUNE": int(manner.tune),
        "PAUSE": manner.pause,
    }
    lines = (f"{key}={shlex.quote(str(value))}\n" for key, value in settings.items())
    (folder / "settings").write_text("".join(lines))
    (folder / "tune").write_text(TUNE.format(mark=f"{MARK}{name}", root=""))
    (folder / "last-words").write_text(LAST_WORDS)
    (folder / "make-initramfs").write_text(MAKE_INITRAMFS)
    shutil.copyfile(runner_program(), folder / "kernsmith-runner")
    script = Path(__file__).with_name(f"{PROGRAM}.sh")
    shutil.copyfile(script, folder / PROGRAM)
    for program in ("kernsmith-runner", PROGRAM):
        (folder / program).chmod(0o755)
    write_text(folder / _CHECKSUMS, _checksums(folder))


def _bring(image: Path, kernels: Path, manner: Manner) -> str:
    """Copy an image with its modules, once; returns the word for it."""
    with image.open("rb") as file:
        content = file.read()
    identity = f"{build_id_in(image)[:20]}-{sha256(content).hexdigest()[:16]}"
    place = kernels / identity
    if place.exists():
        return identity
    place.mkdir()
    (place / "vmlinux").write_bytes(content)
    if manner.enter == "grub":
        kernel = kernel_of(image)
        if kernel is None or kernel.vmlinux != image:
            raise UserError(
                "machine.settings.enter: a boot loader takes kernels in their default layout "
                'alone: say design.layouts = 0, or enter = "kexec"'
            )
        shutil.copyfile(kernel.bzimage, place / "image")
    if modules := installed_modules(image):
        shutil.copyfile(modules.archive, place / "modules.tar")
        (place / "release").write_text(f"{modules.release}\n")
    return identity


def _checksums(folder: Path) -> str:
    """As `sha256sum -c` reads it."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return "".join(
        f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in paths
    )


@dataclass(frozen=True)
class _Step:
    at: str
    what: str
    rest: str


def unpack(folder: Path) -> tuple[Told, ...]:
    """What became of its boots, in their order, those of which nothing became yet left out.

    Raises:
        UserError: it is no such folder.
    """
    if not (folder / _BOOTS).is_dir():
        raise UserError(f"{folder} is no folder of kernsmith batch: it has no {_BOOTS}/")
    steps = dict[str, list[_Step]]()
    for line in _lines(folder / STATE):
        if found := _STEP.fullmatch(line):
            steps.setdefault(found[3], []).append(_Step(found[1], found[2], found[4]))
    return tuple(
        _told(folder / _BOOTS / number, steps[number])
        for number in sorted(steps)
        if (folder / _BOOTS / number).is_dir()
    )


def finished(folder: Path) -> bool:
    """Whether the computer is done with it: every boot has its end."""
    numbers = {path.name for path in (folder / _BOOTS).iterdir()}
    ended = {told.number for told in unpack(folder) if told.status}
    return ended == numbers


def last_step(folder: Path) -> str:
    """What happened last, and when; empty where nothing did."""
    lines = _lines(folder / STATE)
    return lines[-1] if lines else ""


def own_look(folder: Path) -> Look | None:
    """The computer in its own kernel, when the batch was begun."""
    return _look(folder / "own")


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _told(place: Path, steps: Sequence[_Step]) -> Told:
    results = place / RESULTS
    trials = read_results(results.read_text(errors="replace")) if results.exists() else {}
    entered, last = steps[0], steps[-1]
    status, reason = _ending(place, steps)
    return Told(
        place.name, status, reason, trials, _look(place / "before"), _look(place / "after"),
        entered.at, _seconds(entered.at, last.at),
    )  # fmt: skip


def _ending(place: Path, steps: Sequence[_Step]) -> tuple[str, str]:
    last = steps[-1]
    if last.what == "ended":
        return OK, ""
    if last.what == "refused":
        return FAILED, f"the kernel cannot be booted: {last.rest}"
    if last.what != "died":
        return "", ""
    came_up = any(step.what == "up" for step in steps)
    said = " ".join(_lines(place / "said"))
    if said:
        return FAILED, f"the runner: {said}"
    what = "the machine restarted while it measured" if came_up else "the kernel did not come up"
    words = [line for line in _lines(place / "last-words") if _DEAD.match(line)]
    if words:
        return PANIC, f"{what}: {words[-1].strip()}"
    return PANIC, f"{what}, as after a panic; nothing kept its last words"


def _seconds(begin: str, end: str) -> float:
    first, last = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (begin, end))
    return max(0.0, (last - first).total_seconds())


def _look(path: Path) -> Look | None:
    try:
        return read_look(path.read_bytes()) if path.exists() else None
    except KernsmithError:
        return None
