# SPDX-License-Identifier: GPL-2.0-or-later
"""The one engine: a study goes in, kernels are built and booted, verdicts come out."""

from kernsmith.engine.events import Events, Silent
from kernsmith.engine.prepare import Prepared, prepare
from kernsmith.engine.run import run_study
from kernsmith.engine.verdicts import StudyResult
from kernsmith.stats.verdict import Verdict

__all__ = ["Events", "Prepared", "Silent", "StudyResult", "Verdict", "prepare", "run_study"]
