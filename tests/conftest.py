# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of real kernels share: the micro kernel is built once and kept in the cache."""

from __future__ import annotations

import pytest

from kernsmith import paths
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import build_kernel, make_recipe
from kernsmith.kernel.source import Source, resolve_source
from kernsmith.study import Study, plan_variants

SOURCE = "debian:7.3"


@pytest.fixture(scope="session")
def source() -> Source:
    """Debian's kernel source; fetched once."""
    return resolve_source(SOURCE, paths.sources())


@pytest.fixture(scope="session")
def micro_kernel(source: Source) -> Kernel:
    """The micro kernel without a profile: what optimize takes as its baseline, too."""
    study = Study(source=SOURCE, config="micro", factors=(("profile", ("none",)),))
    return build_kernel(make_recipe(plan_variants(study, ())[0], source, None))
