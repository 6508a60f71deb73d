# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine elsewhere that is given kernels: what it is like, the way into one, and back.

A kernel is loaded and entered by kexec(8), and left by a reboot through the firmware: the machine
then boots what it boots by default, which is never changed. Whatever was set meanwhile (governors,
turbo, registers) is as the firmware and its own system set it.

Of the command line of its own kernel, the measured one gets all words, and some more: by the word
`kernsmith.batch=` one can tell, whoever asks and whenever, which of the two is running.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import PurePosixPath

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.machine.remote.connection import (
    Connection,
    RemoteFailed,
    Unreachable,
    patiently,
)
from kernsmith.machine.remote.look import Look, read_look, runner_program
from kernsmith.machine.remote.scripts import (
    BEHIND,
    LAST_WORDS,
    LEAVE,
    LEAVE_FREE,
    MAKE_INITRAMFS,
    MARK,
    OF_LOADER,
    TAKE,
    TUNE,
    WORDS,
)
from kernsmith.machine.running import running_kernel
from kernsmith.stop import check_stop

ARCHITECTURE = "x86_64"
_SHORTLY = 120.0
_ASK_SECONDS = 10.0
_NEEDED = """\
uname -m; id -u; command -v kexec || PATH=$PATH:/sbin:/usr/sbin command -v kexec || echo -
mkdir -p {folder}; df -Pk {folder} | awk 'END {{ print $4 }}'
test -x {runner} && echo there || echo missing
"""


@dataclass(frozen=True)
class Loaded:
    """What is booted. kernel, initramfs, modules: paths there; empty without one.

    batch: the word behind `MARK`. release: of `uname -r`, where it has modules.
    words: what the command line has besides.
    """

    batch: str
    kernel: str
    initramfs: str = ""
    modules: str = ""
    release: str = ""
    words: tuple[str, ...] = ()


@dataclass
class Host:
    """folder: there, of all that is kernsmith's. seconds: how long it may take to answer.

    power_cycle: a command here that switches it off and on; empty: there is none.
    """

    connection: Connection
    folder: str
    seconds: float
    power_cycle: str = ""
    runner: str = field(init=False, default="")

    @property
    def name(self) -> str:
        """What `ssh` calls it."""
        return self.connection.host

    def arrive(self) -> Look:
        """Make it ready to be given kernels, and look at it.

        Raises:
            UserError: it can boot none; the message says why.
            Unreachable: it does not answer.
        """
        program = runner_program().read_bytes()
        self.runner = f"{self.folder}/runner-{sha256(program).hexdigest()[:16]}"
        script = _NEEDED.format(folder=shlex.quote(self.folder), runner=shlex.quote(self.runner))
        told = self._asked(script).split()
        if len(told) != 5:
            raise KernsmithError(f"{self.name}: a shell there says {' '.join(told)[:200]!r}")
        architecture, _, kexec, free, runner = told
        if architecture != ARCHITECTURE:
            raise UserError(
                f"{self.name} is of the architecture {architecture}; kernels here are for "
                f"{ARCHITECTURE}"
            )
        if kexec == "-":
            raise UserError(
                f"{self.name} has no kexec program: install kexec-tools there (sudo apt-get "
                "install kexec-tools)"
            )
        self.check_space(int(free) << 10, len(program))
        if runner == "missing":
            self.connection.send(program, self.runner, "copying the runner")
            self.connection.run(f"chmod 755 {shlex.quote(self.runner)}", "copying the runner")
        look = patiently(self.look, self.seconds)
        if look.forbidden:
            raise UserError(f"{self.name} boots no kernels by kexec: {look.forbidden}")
        return look

    def _asked(self, script: str) -> str:
        """The first answer; tries to be root by sudo where the user is not."""
        connection = self.connection
        who = self._first(connection).strip()
        if who != "0":
            self.connection = replace(connection, become=("sudo", "-n"))
            try:
                self.connection.run("true", "sudo")
            except RemoteFailed as error:
                raise UserError(
                    f"{self.name}: kernels are booted by root: name a host where ssh gets you "
                    f"there (root@HOST), or let sudo ask for no password ({error.said.strip()})"
                ) from None
        return self.connection.run(script, "a first look")

    def _first(self, connection: Connection) -> str:
        """Who one is there; a machine that an earlier command left hanging is brought back."""
        try:
            return connection.run("id -u", "a first look")
        except Unreachable:
            if not self.power_cycle:
                raise
            self.switch_off_and_on()
            return connection.run("id -u", "a first look")

    def check_space(self, free: int, needed: int) -> None:
        """Raises UserError: so many bytes do not fit where so many are free."""
        if free < needed + (8 << 20):
            raise UserError(
                f"the disk of {self.name} is full: {self.folder} needs {(needed >> 20) + 8} MiB, "
                f"and {free >> 20} MiB are free"
            )

    def take(self, seconds: float, waiting: Callable[[str], None]) -> None:
        """Have it alone for so long, or until `free`; its reboots end nothing. Who has it already
        may ask again.

        waiting: called once, with who has it, when it is another computer's.

        Raises:
            UserError: it goes through a folder of its own.
        """
        place, told = shlex.quote(self.folder), ""
        script = f"set -- {place} {shlex.quote(owner())} {int(seconds)}\n{TAKE}"
        while True:
            answer = self.connection.run(script, "taking it").split()
            if answer == ["batch"]:
                raise UserError(
                    f"{self.name} goes through a folder of kernsmith batch (kernsmith-batch status "
                    "there): wait, or stop it"
                )
            if answer[0] == owner():
                return
            if not told:
                told = answer[0]
                waiting(told)
            check_stop()
            time.sleep(_ASK_SECONDS)

    def free(self) -> None:
        """Let others have it."""
        script = f"set -- {shlex.quote(self.folder)} {shlex.quote(owner())}\n{LEAVE_FREE}"
        self.connection.run(script, "leaving it")

    def look(self) -> Look:
        """What it is like now; a machine that does not answer now is not asked again."""
        script = f"{shlex.quote(self.runner)} look"
        try:
            told = self.connection.run(script, "a look", seconds=_SHORTLY, once=True)
        except RemoteFailed as error:  # its sshd is up, and what the runner lies on is not yet
            raise Unreachable(str(error)) from None
        return read_look(told.encode("utf-8", "replace"))

    def answer(self) -> Look:
        """What it is like as soon as it answers, if need be by switching it off and on.

        Raises:
            Unreachable: it does not answer any more.
        """
        try:
            return patiently(self.look, self.seconds)
        except Unreachable:
            if not self.power_cycle:
                raise
            self.switch_off_and_on()
            return patiently(self.look, self.seconds)

    def switch_off_and_on(self) -> None:
        """The user's own last resort.

        Raises:
            KernsmithError: his command fails.
        """
        try:
            process.run(["sh", "-c", self.power_cycle], timeout=_SHORTLY)
        except ProcessFailed as error:
            raise KernsmithError(
                f"machine.settings.power_cycle: {error.tail or error}: {self.name} stays away"
            ) from None

    def load(self, asked: Loaded, own: Look) -> None:
        """Load a kernel, to be entered by `enter`. own: the machine in its own kernel.

        Raises:
            RemoteFailed: it is not taken; the message has what kexec(8) says.
        """
        line = command_line(asked, own)
        script = ["set -e; PATH=$PATH:/sbin:/usr/sbin"]
        initramfs = asked.initramfs
        if asked.modules:
            script.append(self._with_modules(asked, own))
            if not initramfs:
                initramfs = str(PurePosixPath(asked.kernel).with_name("initramfs"))
                given = f"{shlex.quote(asked.release)} {shlex.quote(initramfs)}"
                script.append(f"set -- {given}\n{MAKE_INITRAMFS}")
        given = f"--initrd={shlex.quote(initramfs)}" if initramfs else ""
        script.append(
            f"kexec --load {shlex.quote(asked.kernel)} --args-linux {given} "
            f"--command-line={shlex.quote(line)}"
        )
        script.append(f"({self._words_kept('seen')}) || true")
        self.connection.run("\n".join(script), "loading the kernel", seconds=self.seconds)

    @staticmethod
    def _with_modules(asked: Loaded, own: Look) -> str:
        """The folder of modules that a kernel looks for, as a link."""
        if asked.release == own.release:
            raise UserError(
                f"the kernel calls itself {asked.release}, as the machine's own one does: its "
                "modules would take the other's place; give it another CONFIG_LOCALVERSION"
            )
        place = shlex.quote(f"/lib/modules/{asked.release}")
        return (
            f"if [ -e {place} ] && [ ! -L {place} ]; then echo {place} is of another kernel >&2; "
            f"exit 1; fi; ln -sfn {shlex.quote(asked.modules)} {place}; "
            f"depmod {shlex.quote(asked.release)}"
        )

    def enter(self, before: Look) -> None:
        """Leave the running system for the loaded kernel, in a moment."""
        self._leave(LEAVE.format(verb="kexec", plain="kexec --exec"), before)

    def reboot(self, before: Look) -> None:
        """Go back to the machine's own kernel, through the firmware, in a moment."""
        self._leave(LEAVE.format(verb="reboot", plain="reboot -f"), before)

    def _leave(self, script: str, before: Look) -> None:
        """Only the boot of that look: a connection that is lost does not tell whether it was left,
        and is made again."""
        boot = (
            f'[ "$(cat /proc/sys/kernel/random/boot_id)" = {shlex.quote(before.boot)} ] || exit 0'
        )
        behind = BEHIND.format(script=shlex.quote(f"sleep 1; {script}"))
        with contextlib.suppress(Unreachable):  # the next boot tells
            self.connection.run(f"{boot}\n{behind}", "leaving the kernel")

    def come_up(self, before: Look) -> Look:
        """What the machine is like in its next boot.

        Raises:
            Unreachable: it does not come up.
        """
        return patiently(self.look, self.seconds, lambda look: look.boot != before.boot)

    def tune(self, batch: str) -> None:
        """A steady clock, as far as the machine has knobs for it, in a measured kernel alone: the
        reboot puts them back."""
        self.connection.run(TUNE.format(mark=f"{MARK}{batch}", root=""), "setting the clock")

    def last_words(self) -> str:
        """What the firmware kept of a kernel's log when it died; empty where it keeps nothing."""
        try:
            return self.connection.run(self._words_kept("new"), "reading pstore", once=True)
        except KernsmithError:
            return ""

    def _words_kept(self, what: str) -> str:
        return f"set -- {what} {shlex.quote(f'{self.folder}/pstore-seen')}\n{LAST_WORDS}"

    def keep_look(self) -> None:
        """What it is like now, in its own kernel, for who finds it in a measured one."""
        place = self._own
        script = f"{shlex.quote(self.runner)} look > {place}.part && mv {place}.part {place}"
        self.connection.run(script, "a look")

    def kept_look(self) -> Look | None:
        """What `keep_look` kept last, unless it was forgotten."""
        told = self.connection.run(f"[ ! -e {self._own} ] || cat {self._own}", "a kept look")
        return read_look(told.encode("utf-8", "replace")) if told else None

    def forget(self) -> None:
        """Take away what is kept from one kernel to the next."""
        seen = shlex.quote(f"{self.folder}/pstore-seen")
        self.connection.run(f"rm -f {self._own} {seen}", "taking away notes")

    @property
    def _own(self) -> str:
        return shlex.quote(f"{self.folder}/own")


def owner() -> str:
    """How this computer and user are called where others use the same machine."""
    kernel = running_kernel()
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    word = re.sub(r"[^A-Za-z0-9@._-]", "", f"{name}@{os.uname().nodename}")
    return f"{word}-{kernel.host[:12]}"


def command_line(asked: Loaded, own: Look) -> str:
    """What a kernel is told: what the machine's own one is, and what is special to it."""
    words = [word for word in own.command if not word.startswith(OF_LOADER)]
    return " ".join([*words, *WORDS, *asked.words, f"{MARK}{asked.batch}"])


def measured_batch(look: Look) -> str:
    """Which batch the running kernel is of; empty in the machine's own one."""
    marks = [word.removeprefix(MARK) for word in look.command if word.startswith(MARK)]
    return marks[-1] if marks else ""
