# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that only few tests need: an ordinary test run uses them when they are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import build_kernel, find_kernel
from kernsmith.kernel.recipe import Recipe

ALL = "KERNSMITH_TEST_ALL"


def kept_kernel(recipe: Recipe) -> Kernel:
    """The kernel, if it was built before or `make test-all` runs; else the test is skipped.

    Each costs a whole build, some minutes: all of them together would make the first test run of
    a machine take twice as long.
    """
    kernel = find_kernel(recipe)
    if kernel is None and not os.environ.get(ALL):
        config = Path(recipe.variant.config).stem
        built = f"{recipe.toolchain.compiler.name}, {recipe.variant.name}"
        pytest.skip(
            f"the kernel of the config {config} ({built}) is not built yet: it takes minutes, and "
            "make test-all builds it"
        )
    return kernel or build_kernel(recipe)
