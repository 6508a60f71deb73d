# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of a study's named variants, built and nothing more."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.engine.events import Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import prepare
from kernsmith.errors import KernsmithError, UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.study import Study


def built_variants(
    study: Study, events: Events, *, beside: Sequence[Kernel] = ()
) -> dict[str, Kernel]:
    """Build all variants of a study, which are of one source; by their names.

    beside: kernels that are built and of the same source.

    Raises:
        UserError: the study means nothing, a variant cannot be built, or one is of another source.
        KernsmithError: one does not build.
    """
    prepared = prepare(study, events)
    for refused in prepared.refused:
        raise KernsmithError(refused.sentence)
    sources = {source.digest: source.name for source in prepared.sources.values()}
    for built in beside:
        source = built.provenance["source"]
        sources.setdefault(source["digest"], source["name"])
    if len(sources) > 1:
        raise UserError(
            f"the kernels are of different sources, {' and '.join(sources.values())}: their "
            "objects cannot be mixed; kernsmith bisect looks for commits"
        )
    forge = Forge(prepared, events)
    forge.build()
    kernels = {}
    for variant in prepared.variants:
        kernel = forge.kernel(variant)
        if kernel is None:
            raise KernsmithError(forge.failure(variant))
        kernels[variant.name] = kernel
    return kernels
