# SPDX-License-Identifier: GPL-2.0-or-later
"""The hottest functions of a study: of the counts that its first profile was made from."""

from __future__ import annotations

from kernsmith.document import HotFunctionView, HottestView
from kernsmith.engine.profiles import counts_beside
from kernsmith.engine.verdicts import StudyResult
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.module_code import module_symbols
from kernsmith.kernel.symbols import is_function, read_system_map
from kernsmith.profile import BranchCounts, read_counts
from kernsmith.profile.functions import function_shares
from kernsmith.study.steps import find_step_kind

SHOWN = 50


def find_hottest(result: StudyResult) -> HottestView | None:
    """None for a study that trained nothing, or whose counts have been removed."""
    for variant in result.prepared.variants:
        files = result.profiles.get(variant.name, ())
        trained = [step for step in variant.steps if find_step_kind(step.kind).trained]
        if len(trained) != 1 or trained[0].files or not files:
            continue
        path = counts_beside(files[0], find_step_kind(trained[0].kind))
        kernel = load_kernel(files[0].parent.parent)
        if kernel is None or not path.exists():
            continue
        try:
            counts = read_counts(path)
        except UserError:
            continue
        functions = hottest_functions(counts, kernel)
        return HottestView(
            build_id=counts.build_id,
            workloads=counts.workloads,
            counts=str(path),
            ran=len(functions),
            functions=functions[:SHOWN],
        )
    return None


def hottest_functions(counts: BranchCounts, kernel: Kernel) -> tuple[HotFunctionView, ...]:
    """All functions of a kernel and its modules that ran, the hottest first."""
    own = [each for each in read_system_map(kernel.system_map) if is_function(each)]
    shares = function_shares(counts, [*own, *module_symbols(kernel.folder, counts.modules)])
    return tuple(HotFunctionView(each.name, each.share, each.entered) for each in shares)
