# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole stack on real kernels: AutoFDO, ThinLTO, Propeller, and the best order of functions.

It costs three whole builds of the micro kernel, of which two are linked with LTO. An ordinary test
run takes part in it when they are there; `make test-all` builds them.
"""

import json
import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.kbuild import command_in
from kernsmith.kernel.link import relink
from kernsmith.kernel.symbols import movable_functions, read_system_map

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("optimize")]

THIN = "autofdo+thinlto"
PROPELLER = f"{THIN}+propeller"
LAYOUT = f"{PROPELLER}+layout"
STUDY = f"""
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = ["pipe", "fork", "signal"]
train = ["file", "fork", "pipe", "select", "tcp-stream"]
[factors]
profile = ["none", "{THIN}", "{PROPELLER}", "{LAYOUT}"]
[design]
layouts = 6
"""

KernelOf = Callable[[str], Kernel]


@pytest.fixture(scope="module")
def document(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("stack")
    study = folder / "study.toml"
    study.write_text(STUDY)
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    built = [build["cached"] for build in plan["builds"]]
    assert len(built) == 4
    if not os.environ.get(ALL) and not all(built):
        pytest.skip("kernels are not built yet: it takes minutes, and make test-all does it")
    found: dict[str, Any] = json.loads(kernsmith(folder, "run", str(study), "--json").stdout)
    return found


@pytest.fixture(scope="module")
def kernel_of(document: dict[str, Any]) -> KernelOf:
    vmlinux = {each["name"]: each["vmlinux"] for each in document["variants"]}
    return lambda stack: named_kernel(vmlinux[f"profile={stack}"])


def test_every_stack_is_built_boots_and_has_fewer_misses_than_none(
    document: dict[str, Any],
) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    ratios = {
        verdict["variant"]: verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("l1i_misses", "overall-trained")
    }
    assert all(ratios[f"profile={stack}"] < 0.9 for stack in (THIN, PROPELLER, LAYOUT))


def test_neither_compiler_nor_objtool_nor_linker_says_a_word(kernel_of: KernelOf) -> None:
    for stack in (THIN, PROPELLER):
        log = (kernel_of(stack).folder / "build.log").read_text(encoding="utf-8", errors="replace")
        said = re.findall(r".*\bwarning\b.*", log, re.IGNORECASE)
        # The kernel's own script for the order of initcalls says it in every build with LTO.
        assert [line for line in said if "Unable to reopen jobserver" not in line] == []


def test_the_linker_is_told_of_both_profiles_and_of_the_flags_beside_them(
    kernel_of: KernelOf,
) -> None:
    kernel = kernel_of(PROPELLER)
    linked = (kernel.output / ".vmlinux.o.cmd").read_text(encoding="utf-8")
    variables = dict(
        word.split("=", 1) for word in command_in(kernel, kernel.folder)[1:] if "=" in word
    )
    profile, prefix = (
        variables[name] for name in ("CLANG_AUTOFDO_PROFILE", "CLANG_PROPELLER_PROFILE_PREFIX")
    )
    for flag in (
        f"--lto-sample-profile={profile}",
        f"--lto-basic-block-sections={prefix}_cc_profile.txt",
        "-split-machine-functions",
        "-profile-summary-cutoff-hot=",
        "-enable-ext-tsp-block-placement=true",
    ):
        assert linked.count(flag) == 1, flag


def test_functions_of_an_lto_kernel_are_split_and_can_be_moved(kernel_of: KernelOf) -> None:
    kernel = kernel_of(PROPELLER)
    symbols = read_system_map(kernel.system_map)
    assert sum(symbol.name.endswith(".cold") for symbol in symbols) > 300
    address = {symbol.name: symbol.address for symbol in symbols}
    first, second = [name for name in kernel.order if name in ("vfs_read", "vfs_write")]
    assert address[first] < address[second]
    image = relink(kernel, "test-turned", [second, first])
    turned = {s.name: s.address for s in read_system_map(image.with_name("System.map"))}
    assert turned[second] < turned[first]


def test_the_layout_is_the_same_objects_in_an_order_that_random_layouts_keep(
    kernel_of: KernelOf,
) -> None:
    below, kernel = kernel_of(PROPELLER), kernel_of(LAYOUT)
    assert kernel.provenance["reordered"]["kernel"] == below.key
    symbols = read_system_map(kernel.system_map)
    movable = set(movable_functions(symbols))
    named = [name for name in kernel.order if name in movable]
    drawn = sorted((kernel.folder / "layouts").glob("random*/order"))
    assert drawn
    for path in drawn:
        # In front of them stand the margins of regions.
        order = [name for name in path.read_text().split() if name in movable]
        assert order[: len(named)] == named
        assert len(order) > len(named)
