# SPDX-License-Identifier: GPL-2.0-or-later
"""A snapshot: a guest goes on from where it waits for its workload, again and again.

The guest (guest/snapshot) does not know its workload while it boots. QEMU's debugger stops it at an
instruction, before the one that reads it, and what is in its memory is written to a file, once for
all workloads that boot so. A run goes on from there, in another QEMU, with the tracer, and with the
workload at the end of its disk, of which nothing is in that file. A guest without a disk has all
that it may run in its program, and the debugger writes what it is into its memory.

It is the instruction that makes runs equal wherever a snapshot is taken anew: which moment of the
host's clock it was does not matter.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from qemu.qmp import QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from kernsmith import paths, process
from kernsmith.errors import KernsmithError, ProcessFailed, ProcessTimedOut
from kernsmith.files import copy_file, locked, replacing, using, write_bytes, write_text
from kernsmith.guest.initramfs import Member, closed, read_program, taken_out
from kernsmith.guest.workloads import Workload, held_program, held_programs
from kernsmith.machine.debugger import NotReached, connected_debugger
from kernsmith.machine.pinned import standing_digest
from kernsmith.machine.qemu_threads import connected
from kernsmith.paths import shipped
from kernsmith.stop import check_stop
from kernsmith.store import local_store
from kernsmith.threads import threads

HOLD = 0x6B00_0000
"""Where guests with a disk wait (guest/Makefile)."""
WORKLOAD_BYTES = 4 << 20
"""What a workload may be, at the end of the disk (guest/snapshot/snapshot.h)."""
TOLD_BYTES = 128
"""And what the words may be that those without one are told (the same)."""

MOST_BYTES = 4 << 30
"""What all snapshots together may have on the disk; those that nobody has used for longest go."""

_KIND = "snapshots"
_FOLDER = "workload"
# What is told its workload later, and its place in a guest's archive: process 1, or systemd's unit.
_SMALL = ("root/init", "kernsmith-snapshot")
_SYSTEMD = ("root/above/usr/lib/kernsmith/run", "kernsmith-snapshot-service")
_INIT = "init"
_MEMORY, _SIZE, _CONSOLE = "memory", "size", "console.log"
_ANSWER_SECONDS = 60.0
_LOOK_SECONDS = 0.02


class Told(NamedTuple):
    """Words of `TOLD_BYTES` that are written to an address of the program that waits."""

    address: int
    words: bytes


@dataclass(frozen=True)
class PartedGuest:
    """What boots, and what a workload adds to it.

    initramfs: the archive of a guest that does not know its workload. hold: where that waits for
        it. disk: the archive with the workload, of `WORKLOAD_BYTES`; empty in a guest without a
        disk, and told is what that has instead.
    """

    initramfs: bytes
    hold: int = HOLD
    disk: bytes = b""
    told: Told | None = None


def programs_digest() -> str:
    """Of the programs that run workloads behind a snapshot."""
    digest = sha256()
    for path in (*(_program(name) for _, name in (_SMALL, _SYSTEMD)), *held_programs()):
        try:
            digest.update(bytes.fromhex(standing_digest(path)))
        except OSError:
            read_program(path)  # which says why
            raise
    return digest.hexdigest()


def _program(name: str) -> Path:
    return shipped("build", "guest", name)


def parted_guest(workload: Workload, archive: Path) -> PartedGuest | None:
    """The guest of a workload, parted; None where there is no snapshot of it: it has several vCPUs,
    more files than fit on the disk, or files and no disk.

    archive: what the guest boots with that knows it.
    """
    if workload.vcpus > 1:
        return None
    rest, own = taken_out(archive.read_bytes(), _FOLDER)
    words = f"{workload.name} {workload.rounds} {workload.warmup}\n".encode()
    if workload.root is not None:
        disk = closed(own, [Member("run", words)]).ljust(WORKLOAD_BYTES, b"\0")
        place, name = _SYSTEMD if f"{_SYSTEMD[0]}\0".encode() in rest else _SMALL
        guest = PartedGuest(_with_init(rest, place, _program(name)), disk=disk)
        return guest if len(disk) == WORKLOAD_BYTES else None
    if own or len(words) >= TOLD_BYTES:
        return None
    program = held_program(workload)
    initramfs = _with_init(rest, _INIT, program)
    hold, told = _addresses(program, standing_digest(program))
    return PartedGuest(initramfs, hold, told=Told(told, words.ljust(TOLD_BYTES, b"\0")))


def _with_init(archive: bytes, place: str, program: Path) -> bytes:
    return closed(archive, [Member(place, read_program(program), executable=True)])


@lru_cache(maxsize=64)
def _addresses(program: Path, digest: str) -> tuple[int, int]:
    """Where a program of this digest waits, and where it is told its workload."""
    said = process.run(["nm", "--defined-only", program], timeout=_ANSWER_SECONDS).output
    found = {name: int(address, 16) for address, _, name in map(str.split, said.splitlines())}
    return found["hold"], found["told"]


class NoSnapshot(KernsmithError):
    """A snapshot that could not be taken or gone on from.

    ended: the guest ended before it came to its workload, and its console tells why. hung: its time
    was over. unread: QEMU did not take what is in the file.
    """

    def __init__(
        self, why: str, *, ended: bool = False, hung: bool = False, unread: bool = False
    ) -> None:
        super().__init__(why)
        self.ended, self.hung, self.unread = ended, hung, unread


@dataclass(frozen=True)
class Snapshot:
    """One, in a folder that is named by all that its boot depends on."""

    folder: Path

    @property
    def memory(self) -> Path:
        """The file with the guest."""
        return self.folder / _MEMORY

    @property
    def number(self) -> int:
        """Of the file: another one, when it was written anew."""
        return self.memory.stat().st_ino

    def _is_whole(self) -> bool:
        """Whether the file is as large as what was written."""
        try:
            size = int((self.folder / _SIZE).read_text(encoding="ascii"))
            return self.memory.stat().st_size == size
        except (OSError, ValueError):
            return False

    @contextmanager
    def taken(
        self,
        command: Sequence[str],
        hold: int,
        behind: Path | None,
        console: Path,
        seconds: float,
        unread: int = 0,
    ) -> Iterator[None]:
        """Boot a guest and write it, if that is not done yet; until the end of the block nobody
        removes it. The snapshots that nobody has used for longest make room for a new one.

        command: of QEMU. hold: where the guest waits. behind: the end of the disk in it, which is
            another file now, if there is one. console: gets what a guest said of which there is no
            snapshot. unread: the `number` of a file that QEMU did not take: it is written anew.

        Raises:
            NoSnapshot: the guest ended, or its time.
        """
        with ExitStack() as stack:
            with locked(self.folder / "lock"):
                new = not self._is_whole() or self.number == unread
                if new:
                    self._take(command, hold, behind, console, seconds)
                stack.enter_context(using(self.folder))
                os.utime(self.memory)
            if new:
                local_store().shrink(_KIND, MOST_BYTES)
            yield

    def _take(
        self,
        command: Sequence[str],
        hold: int,
        behind: Path | None,
        console: Path,
        seconds: float,
    ) -> None:
        words = list(command)
        if behind:
            empty = self.folder / "empty"
            write_bytes(empty, bytes(WORKLOAD_BYTES))
            words = [word.replace(str(behind), str(empty)) for word in words]
        with replacing(self.memory) as memory:
            self._boot(words, hold, memory, console, seconds)
        write_text(self.folder / _SIZE, f"{self.memory.stat().st_size}\n")

    def _boot(
        self, command: list[str], hold: int, memory: Path, console: Path, seconds: float
    ) -> None:
        said = self.folder / _CONSOLE

        def held(folder: Path, alive: Callable[[], bool]) -> None:
            with connected_debugger(folder / "debugger", alive) as debugger:
                debugger.stop_at(hold, seconds)
                _write(folder / "monitor", memory)

        # No guest goes on as one that a debugger has stopped.
        command += ["-global", "migration.store-global-state=off"]
        command += ["-S", "-gdb", "unix:{folder}/debugger,server=on,wait=off"]
        try:
            _beside(command, said, seconds + _ANSWER_SECONDS, held)
        except NotReached as error:
            raise NoSnapshot(str(error), ended=error.ended, hung=not error.ended) from None
        except (OSError, QMPError) as error:
            raise NoSnapshot(f"QEMU wrote no snapshot: {error}") from None
        finally:
            copy_file(said, console)

    def go_on(
        self, command: Sequence[str], told: Told | None, console: Path, seconds: float
    ) -> float:
        """Have a guest go on to its end. Returns how long it took, in seconds.

        Raises:
            NoSnapshot: the file cannot be read.
            ProcessTimedOut, ProcessFailed: as of `process.run`.
        """
        loaded = False

        def speak(folder: Path, alive: Callable[[], bool]) -> None:
            nonlocal loaded
            with _monitor(folder / "monitor") as qemu:
                # It would announce the guest to networks for 0.8 s, by a timer of the host's clock.
                # While one is set, QEMU ends what a vCPU executes at a time by it as well
                # (icount_get_limit()): in the middle of a block, and in each run of another one.
                qemu.cmd("migrate-set-parameters", **{"announce-rounds": 0})
                qemu.cmd("migrate-incoming", uri=f"file:{self.memory}")
                _wait(qemu)
                if told:
                    with connected_debugger(folder / "debugger", alive) as debugger:
                        debugger.write(*told)
                loaded = True
                qemu.cmd("cont")

        words = [*command, "-S", "-incoming", "defer"]
        words += ["-gdb", "unix:{folder}/debugger,server=on,wait=off"] if told else []
        try:
            return _beside(words, console, seconds, speak)
        except (OSError, QMPError, NotReached, NoSnapshot) as error:
            why = f"QEMU does not go on from a snapshot: {error}"
            raise NoSnapshot(why, unread=not loaded) from None
        except ProcessFailed as error:
            if loaded or error.of_host or isinstance(error, ProcessTimedOut):
                raise
            raise NoSnapshot(f"QEMU reads no snapshot: {error.brief}", unread=True) from None


def run(
    command: list[str],
    guest: PartedGuest,
    behind: Path | None,
    contents: Mapping[Path, str],
    console: Path,
    seconds: float,
) -> float:
    """Run a guest from a snapshot, which is taken where there is none, and once more where QEMU
    cannot read it. Returns the run's seconds.

    command: of QEMU, with what it boots and then `-plugin`. behind: the file in it with the end of
        the disk. contents: the digests of all other files in it that decide what a boot does.

    Raises:
        NoSnapshot: see there. ProcessTimedOut, ProcessFailed: as of `process.run`.
    """
    booted = command[: command.index("-plugin")]
    named = [word.replace(str(behind), "") if behind else word for word in booted]
    for path, digest in contents.items():
        named = [word.replace(str(path), digest) for word in named]
    key = sha256(json.dumps([programs_digest(), *named]).encode()).hexdigest()[:20]
    snapshot = Snapshot(paths.snapshots() / key)
    unread = 0
    while True:
        with snapshot.taken(booted, guest.hold, behind, console, seconds, unread):
            try:
                return snapshot.go_on(command, guest.told, console, seconds)
            except NoSnapshot as error:
                if unread or not error.unread:
                    raise
                unread = snapshot.number


def write_disk(guest: PartedGuest, folder: Path) -> Path | None:
    """The end of the disk, as a file; None where there is no disk."""
    if not guest.disk:
        return None
    path = folder / "workload.disk"
    write_bytes(path, guest.disk)
    return path


def _beside(
    command: list[str],
    console: Path,
    seconds: float,
    speak: Callable[[Path, Callable[[], bool]], None],
) -> float:
    """Run QEMU, and meanwhile speak with it. speak: is given the folder of the sockets, and what
    tells whether QEMU still runs."""
    with tempfile.TemporaryDirectory(prefix="kernsmith-") as name, threads(1) as pool:
        folder = Path(name)
        words = [word.replace("{folder}", str(folder)) for word in command]
        words += ["-qmp", f"unix:{folder}/monitor,server=on,wait=off"]
        qemu = pool.submit(process.run, words, log=console, timeout=seconds, capture=False)
        try:
            speak(folder, lambda: not qemu.done())
        except (OSError, QMPError):
            if qemu.done():
                qemu.result()  # which says better why nobody answers
            raise
        return qemu.result().seconds


def _write(monitor: Path, memory: Path) -> None:
    """Write a stopped guest to a file, and end it."""
    with _monitor(monitor) as qemu:
        qemu.cmd("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        qemu.cmd("migrate", uri=f"file:{memory}")
        _wait(qemu)
        qemu.cmd("quit")


@contextmanager
def _monitor(path: Path) -> Iterator[QEMUMonitorProtocol]:
    """A QEMU that leaves the disk out of what it writes and reads."""
    qemu = connected(path)
    try:
        qemu.settimeout(_ANSWER_SECONDS)
        shared = {"capability": "x-ignore-shared", "state": True}
        qemu.cmd("migrate-set-capabilities", capabilities=[shared])
        yield qemu
    finally:
        with suppress(EOFError):  # it has ended
            qemu.close()


def _wait(qemu: QEMUMonitorProtocol) -> None:
    while True:
        check_stop()
        answer = qemu.cmd("query-migrate")
        assert isinstance(answer, dict)
        status = answer.get("status", "")
        if status == "completed":
            return
        if status in ("failed", "cancelled"):
            raise NoSnapshot(f"a snapshot is not whole: {answer.get('error-desc', status)}")
        time.sleep(_LOOK_SECONDS)
