# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrating a CPU model: what calibrates does not judge, and times tell what made them."""

from pathlib import Path

import numpy as np
import pytest

from cpu_models import PENALTIES
from kernsmith import paths
from kernsmith._native import trace_costs
from kernsmith.engine.calibration import (
    KNOBS,
    Calibration,
    Fit,
    Timed,
    find_knobs,
    halves,
    read_values,
    with_values,
)
from kernsmith.engine.calibration_programs import WarmTraces
from kernsmith.engine.events import Events
from kernsmith.errors import UserError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, run_once
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.tcg import open_machine
from kernsmith.stats.calibration import Case

EMERALD = paths.shipped("cpus/emeraldrapids.toml")
MODEL = EMERALD.read_text()
WAITING = MODEL.replace("[decoupled.core]\n", "[decoupled.core]\nwindow = 97\nload_cycles = 5\n")


class Quiet(Events):
    """Says nothing."""


def test_halves_share_no_program_and_leave_none_out() -> None:
    programs = ("tcc", "lua", "mix", "sqlite", "mujs")
    one, other = halves(programs)
    assert not set(one) & set(other)
    assert sorted(one + other) == sorted(programs)
    with pytest.raises(UserError, match="those that judge do not calibrate"):
        halves(("lua", "lua"))


def test_what_calibrated_cannot_judge() -> None:
    calibration = Calibration(MODEL, (), 1, WarmTraces(EMERALD, (), Quiet()), Quiet())
    fit = Fit(("lua", "mix"), (), read_values(MODEL), 0.0)
    with pytest.raises(UserError, match="mix calibrated this model and cannot judge it"):
        calibration.judged(fit, ("mix", "tcc"))


def test_values_change_and_nothing_else_of_the_file_does() -> None:
    values = read_values(MODEL)
    assert len(values) == len(KNOBS)
    assert read_values(with_values(MODEL, values)) == values
    other = tuple((knob.low + knob.high) / 2 for knob in KNOBS)
    changed = with_values(MODEL, other)
    assert read_values(changed) == other
    lines = zip(MODEL.splitlines(), changed.splitlines(), strict=True)
    assert sum(a != b for a, b in lines) <= len(KNOBS)


def test_a_value_of_any_size_is_read_back() -> None:
    values = (3e-20, *read_values(MODEL)[1:])
    assert read_values(with_values(with_values(MODEL, values), values)) == values


def test_a_core_without_a_buffer_has_no_knob_for_it() -> None:
    kept = [line for line in MODEL.splitlines() if not line.startswith("l2 = ")]
    text = "\n".join(kept) + "\n"
    assert [knob.name for knob in set(KNOBS) - set(find_knobs(text))] == ["buffers.l2"]
    values = read_values(text)
    assert len(values) == len(KNOBS) - 1
    assert read_values(with_values(text, values)) == values


def test_what_a_core_with_a_window_allocates_is_not_fitted() -> None:
    assert [knob.name for knob in set(KNOBS) - set(find_knobs(WAITING))] == ["core.width"]
    with pytest.raises(UserError, match=r"--keep core\.width: this model can be fitted by"):
        find_knobs(WAITING, ("core.width",))


def test_what_is_kept_is_not_fitted() -> None:
    kept = ("buffers.l1", "core.width")
    left = {knob.name for knob in set(KNOBS) - set(find_knobs(MODEL, kept))}
    assert left == set(kept)
    values = tuple(2 * value for value in read_values(MODEL, kept))
    changed = with_values(MODEL, values, kept)
    assert read_values(changed, kept) == values
    others = [knob.name for knob in find_knobs(MODEL) if knob.name not in kept]
    assert read_values(changed, others) == read_values(MODEL, others)
    with pytest.raises(UserError, match=r"--keep l1: this model can be fitted by core\.resolve_"):
        find_knobs(MODEL, ("l1",))
    with pytest.raises(UserError, match="--keep leaves nothing to fit"):
        find_knobs(MODEL, [knob.name for knob in KNOBS])


def test_a_sum_of_penalties_cannot_be_calibrated() -> None:
    with pytest.raises(UserError, match=r"no decoupled\.core\.resolve_cycles: it cannot"):
        read_values(PENALTIES.read_text())


def test_a_core_without_a_micro_op_cache_has_no_switch_to_calibrate() -> None:
    """A Zen 5 has all the figures."""
    names = [knob.name for knob in find_knobs(paths.shipped("cpus/neoverse-n1.toml").read_text())]
    assert "fetch.switch_cycles" not in names
    assert "core.resolve_cycles" in names
    model = paths.shipped("cpus/zen5.toml").read_text()
    values = read_values(model)
    assert values == (11, 0.189, 13, 1.27, 0.9, 1.9, 8)
    assert with_values(model, values) == model


@pytest.mark.kernel
def test_times_of_a_model_give_its_figures_back(micro_kernel: Kernel, tmp_path: Path) -> None:
    """Two workloads stand for programs, and a model with other figures for the processor."""
    machine = open_machine("skylake")
    truth = list(read_values(MODEL))
    truth[0], truth[1] = 20.0, 0.25
    real = tmp_path / "real.toml"
    real.write_text(with_values(MODEL, truth))
    timed = []
    for work in load_catalogue().select(["pipe", "file"]):
        booted = run_once(machine, micro_kernel.vmlinux, Job(work, tmp_path / work.name, trace="t"))
        assert booted.ok and booted.trace
        now, then = (modes[0][MODEL_CYCLES] for modes in trace_costs(booted.trace, [EMERALD, real]))
        timed.append(Timed(Case(work.name, "O2", True, then), str(booted.trace), now))
    simulate = WarmTraces(EMERALD, [one.key for one in timed], Quiet())
    calibration = Calibration(MODEL, timed, 3, simulate, Quiet())
    fit = calibration.fit(("pipe",))
    judging = next(one for one in timed if one.case.program == "file")
    judged = calibration.judged(fit, ("file",))[judging.key]
    assert fit.error < 0.01
    before = abs(np.log(judging.modelled / judging.case.measured))
    assert abs(np.log(judged / judging.case.measured)) < before / 2
