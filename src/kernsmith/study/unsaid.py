# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study takes where neither its file nor a command says it, by its machine."""

from __future__ import annotations

from kernsmith.errors import UserError
from kernsmith.study.study import (
    DEFAULT_CPU,
    FRONTEND,
    KVM,
    SELF,
    TRACING,
    UML,
    Depth,
    Pairing,
    Setting,
)

_USUAL = "lab"
_RUNS = 10
_ORACLES = ("selftests",)
_NO_ORACLE = "none"


def config_on(machine: str, asked: str = "") -> str:
    """The config: `lab`, or that of a machine which has one of its own."""
    return asked or (UML if machine == UML else _USUAL)


def cpu_on(machine: str) -> str:
    """The CPU model: none on a machine that simulates none."""
    return "" if machine in (KVM, UML) else DEFAULT_CPU


def workloads_on(machine: str, asked: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The workloads: the set `lab`, or the load that is in a machine's images."""
    return asked or ((UML,) if machine == UML else (_USUAL,))


def pairing_on(machine: str) -> Pairing:
    """How two kernels are compared: at the same places, where layouts can have paddings."""
    return "seed" if machine == UML else "place"


def runs_on(machine: str) -> int:
    """Runs of each workload in a boot: several, where one boot does them and times scatter."""
    return _RUNS if machine == KVM else 1


def settings_on(machine: str, depth: Depth = FRONTEND) -> tuple[tuple[str, Setting], ...]:
    """What a machine is told: a depth that is not the usual one, and, where QEMU boots kernels
    without noise, that a kernel comes up once for all workloads."""
    deep = () if depth == FRONTEND else (("depth", depth),)
    return (*deep, *((("snapshots", True),) if machine in TRACING else ()))


def oracles_on(machine: str, asked: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The oracles: the one that needs no kernel of its own, where QEMU boots kernels; none where
    that is asked for, and where kernels boot elsewhere or nowhere.

    Raises:
        UserError: none and some are asked for.
    """
    if _NO_ORACLE in asked:
        if set(asked) != {_NO_ORACLE}:
            raise UserError(f"--oracle {_NO_ORACLE} goes with no other oracle")
        return ()
    return asked or (_ORACLES if machine in (*TRACING, KVM) else ())


def check_here(machine: str) -> None:
    """That a command which measures at once can have the machine.

    Raises:
        UserError: it is this computer itself, whose kernels boot when its user says so.
    """
    if machine == SELF:
        raise UserError(
            f"the machine {SELF} boots this computer: write the study into a file, and "
            f"`kernsmith run STUDY --machine {SELF}` prepares it (docs/machine-self.md)"
        )
