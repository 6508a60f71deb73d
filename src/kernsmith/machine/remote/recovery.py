# SPDX-License-Identifier: GPL-2.0-or-later
"""The way back into its own kernel, for a machine whose kernel died, hangs, or is to be left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernsmith.errors import KernsmithError
from kernsmith.machine.protocol import HANG, PANIC
from kernsmith.machine.remote.connection import Unreachable
from kernsmith.machine.remote.host import Host, measured_batch
from kernsmith.machine.remote.look import Look

_SILENT = ", as after a panic; nothing kept its last words"


@dataclass(frozen=True)
class End:
    """How a boot ended before its runs did.

    own: the machine in its own kernel again; None where it never left it. lost: a sentence, where
        it does not come back by itself and nothing here brings it back.
    """

    status: str
    reason: str
    own: Look | None = None
    lost: str = ""


@dataclass(frozen=True)
class Recovery:
    """step: called with each thing that is done to the machine."""

    host: Host
    step: Callable[[str], None]

    def gone(self, before: Look, what: str) -> End:
        """From a machine that does not answer any more; it is brought back if that can be."""
        if not self.host.power_cycle:
            lost = (
                f"{self.host.name}: {what}; switch it off and on, and say how kernsmith does that "
                "(machine.settings.power_cycle)"
            )
            self.step(lost)
            return End(HANG, what, lost=lost)
        self.step(f"{what}: switching it off and on")
        try:
            self.host.switch_off_and_on()
            own = self.own_kernel(self.host.come_up(before))
        except KernsmithError as error:
            return End(HANG, what, lost=str(error))
        return End(HANG, f"{what}; power_cycle brought the machine back", own)

    def died(self, look: Look, what: str) -> End:
        """From a machine that came back by itself."""
        words = self.host.last_words()
        self.step(f"{what}; pstore has: {words or 'nothing'}")
        said = [line for line in words.splitlines() if "Kernel panic" in line or "BUG:" in line]
        last = f": {said[-1].strip()}" if said else _SILENT
        try:
            return End(PANIC, f"{what}{last}", self.own_kernel(look))
        except Unreachable as error:
            return End(PANIC, f"{what}{last}", lost=str(error))

    def stuck(self, look: Look, what: str) -> End:
        """From a kernel that answers, and in which a workload neither goes on nor ends."""
        self.step(f"{what}: rebooting it into its own kernel")
        try:
            own = self.own_kernel(look)
        except Unreachable:
            return self.gone(look, f"{what}, and it does not reboot")
        return End(HANG, f"{what}; a reboot brought the machine back", own)

    def own_kernel(self, look: Look) -> Look:
        """The machine in its own kernel, which it is in already, or is rebooted into.

        Raises:
            Unreachable: it does not come up again.
            KernsmithError: it boots a measured one by default.
        """
        if not measured_batch(look):
            return look
        self.step("rebooting it into its own kernel")
        self.host.reboot(look)
        try:
            found = self.host.come_up(look)
        except Unreachable:
            if not self.host.power_cycle:
                raise
            self.step("it does not reboot: switching it off and on")
            self.host.switch_off_and_on()
            found = self.host.come_up(look)
        if measured_batch(found):
            raise KernsmithError(
                f"{self.host.name} boots a measured kernel by default: set its boot loader right"
            )
        return found
