# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of a study's named variants, built and nothing more."""

from __future__ import annotations

from kernsmith.engine.events import Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import prepare
from kernsmith.errors import KernsmithError
from kernsmith.kernel.artifact import Kernel
from kernsmith.study import Study


def built_variants(study: Study, events: Events) -> dict[str, Kernel]:
    """Build all variants of a study; by their names.

    Raises:
        UserError: the study means nothing, or a variant cannot be built.
        KernsmithError: one does not build.
    """
    prepared = prepare(study, events)
    for refused in prepared.refused:
        raise KernsmithError(refused.sentence)
    forge = Forge(prepared, events)
    forge.build()
    kernels = {}
    for variant in prepared.variants:
        kernel = forge.kernel(variant)
        if kernel is None:
            raise KernsmithError(forge.failure(variant))
        kernels[variant.name] = kernel
    return kernels
