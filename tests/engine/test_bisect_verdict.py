# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's verdict holds though figures said in how many layouts it is measured."""

from dataclasses import replace

import numpy as np
import pytest
from test_result_forms import document_of
from test_verdicts import OPTIMIZE

from kernsmith.document import VerdictView
from kernsmith.engine.bisect import verdict_design
from kernsmith.study import Design, Trial

NOISE = np.exp(np.random.default_rng(4).normal(0, 0.01, (2, 65)))


def verdict(design: Design) -> VerdictView:
    def figure(trial: Trial) -> float:
        return float(1e6 * NOISE[int(bool(trial.variant.steps)), trial.layout_number])

    return document_of(replace(OPTIMIZE, design=design), figure).verdicts[0]


@pytest.mark.parametrize("measured", [8, 12, 18, 64])
def test_layouts_that_were_added_make_it_always_valid(measured: int) -> None:
    found = verdict(verdict_design(Design(layouts=8, most_layouts=64, until=0.5), measured))
    assert found.n == measured
    assert found.always_valid
    assert "always-valid CI" in found.sentence


def test_one_number_of_layouts_is_fixed_in_advance() -> None:
    found = verdict(verdict_design(Design(layouts=12, most_layouts=12, until=0.5), 12))
    assert found.n == 12
    assert not found.always_valid


def test_without_a_width_it_has_the_number_that_was_asked_for() -> None:
    found = verdict(verdict_design(Design(layouts=8, most_layouts=64, until=0.0), 18))
    assert found.n == 8
    assert not found.always_valid
