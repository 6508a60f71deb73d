# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload `binder` on a kernel whose driver is in Rust: what it needs, exact counters."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith.errors import UserError
from kernsmith.guest import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import find_rust, find_toolchain
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.paths import shipped
from kernsmith.study import plan_variants
from kernsmith.study.file import read_study

(BINDER,) = load_catalogue().select(["binder"])
STUDY = read_study(shipped("studies", "rust.toml"))


def test_the_config_has_what_binder_needs_and_micro_has_not() -> None:
    assert STUDY.workloads == ("binder",)
    assert BINDER.missing(read_fragment(STUDY.config).symbols) == ()
    assert BINDER.missing(read_fragment("micro").symbols) == BINDER.needs


@pytest.fixture(scope="module")
def kernel(source: Source) -> Kernel:
    try:
        find_rust(find_toolchain().compiler)
    except UserError as error:
        pytest.skip(str(error))
    return kept_kernel(make_recipe(plan_variants(STUDY, ("binder",))[0], source))


def boot(kernel: Kernel, folder: Path) -> Outcome:
    short = replace(BINDER, rounds=40, warmup=4)
    return run_once(open_machine("cortex-a9"), kernel.vmlinux, Job(short, folder))


@pytest.mark.kernel
@pytest.mark.xdist_group("rust")
def test_two_boots_of_a_driver_in_rust_give_equal_counters(kernel: Kernel, tmp_path: Path) -> None:
    first, second = (boot(kernel, tmp_path / which) for which in ("first", "second"))
    assert first.ok, first.reason
    assert first.metrics == second.metrics


@pytest.mark.kernel
@pytest.mark.xdist_group("rust")
def test_no_path_of_this_machine_is_in_it(kernel: Kernel) -> None:
    content = kernel.vmlinux.read_bytes()
    assert b"library/core/src/" in content, "code of Rust's library says where it panics"
    rust = find_rust(find_toolchain().compiler)
    for place in (kernel.folder, kernel.tree, rust.library):
        assert str(place).encode() not in content
