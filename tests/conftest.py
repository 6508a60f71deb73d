# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of real kernels share: the micro kernel is built once and kept in the cache."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from kernels import kept_kernel
from kernsmith import paths
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source, resolve_source
from kernsmith.paths import shipped
from kernsmith.study import Study, Variant, plan_variants
from kernsmith.study.file import read_study

SOURCE = "debian:7.3"

# The library readline, which pytest loads, tells all programs a terminal's width.
os.unsetenv("COLUMNS")
os.unsetenv("LINES")
# Each of the thousand commands that tests start would compile all of its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How long an example takes says how busy the machine is.
settings.register_profile("kernsmith", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kernsmith")


@pytest.fixture(scope="session")
def source() -> Source:
    """Debian's kernel source; fetched once."""
    return resolve_source(SOURCE, paths.sources())


@pytest.fixture(scope="session")
def micro_variant() -> Variant:
    """The micro config without a profile: what optimize takes as its baseline, too."""
    study = Study(source=SOURCE, config="micro", factors=(("profile", ("none",)),))
    return plan_variants(study, ())[0]


@pytest.fixture(scope="session")
def micro_kernel(micro_variant: Variant, source: Source) -> Kernel:
    """The kernel of `micro_variant`.

    Of those that an ordinary test run builds beside it one has another config symbol, the kernel
    that Propeller is trained on; most of its objects are these.
    """
    return build_kernel(make_recipe(micro_variant, source))


@pytest.fixture(scope="session")
def nat_kernel(source: Source) -> Kernel:
    """The kernel of studies/router-layouts.toml."""
    study = read_study(shipped("studies", "router-layouts.toml"))
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))
