# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of a real kernel on the machine `uml`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.engine import Silent, prepare, run_study
from kernsmith.engine.noise import find_noise
from kernsmith.kernel.toolchain import default_compiler, find_compiler
from kernsmith.ledger import Ledger
from kernsmith.report.study.document import study_document
from kernsmith.silicon.builds import BASELINE, find_builds
from kernsmith.silicon.programs import find_program
from kernsmith.silicon.uml import is_built, kernel_folder
from kernsmith.study.file import study_from_tables

STUDY = {
    "source": {"use": "debian:7.3"},
    "machine": {"use": "uml", "settings": {"runs": 6, "patience": 0}},
    "factors": {"label": ["a", "b"]},
    "design": {"layouts": 1},
}


@pytest.mark.kernel
def test_a_kernel_beside_itself_differs_by_layout_and_by_nothing_else(tmp_path: Path) -> None:
    kernel = find_program("uml").kernel
    assert kernel is not None
    (build,) = find_builds([BASELINE])
    folder = kernel_folder(kernel, build, find_compiler(default_compiler()))
    if not is_built(folder) and not os.environ.get(ALL):
        pytest.skip("the kernel of the program uml is not built yet: make test-all builds it")
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")
    study = study_from_tables(STUDY, origin="test", name="itself")
    result = run_study(prepare(study, Silent()), ledger, Silent())
    ledger.close()
    assert not result.failures
    document = study_document(result)
    cycles = {(run.variant, run.layout): run.metrics["core_cycles"] for run in document.runs}
    assert len(cycles) == 4
    assert min(cycles.values()) > 10e6
    # One binary by turns with itself: how near its two times are is not asked of a shared machine.
    assert len({kernel.vmlinux for kernel in result.kernels.values()}) == 1
    assert [noise.runs for noise in find_noise(document.runs)] == [2, 2]
    images = list((result.kernels["label=a"].folder / "layouts").glob("*/vmlinux"))
    assert len(images) >= 2
