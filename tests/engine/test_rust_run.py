# SPDX-License-Identifier: GPL-2.0-or-later
"""A driver in Rust under a workload: trained, and placed by its profile like code in C.

`make test-all` gets Rust and builds the two kernels.
"""

import json
import os
import re
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith import process
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.link_map import link_map
from kernsmith.kernel.private_root import add_toolchain, find_private_root
from kernsmith.kernel.symbols import is_function, read_system_map
from kernsmith.kernel.toolchain import RUST, find_toolchain
from kernsmith.layout import read_link_map
from kernsmith.profile.idle import input_sections

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("rust")]

STUDY = """
[source]
use = "debian:7.3"
config = "rust"
[machine]
cpu = "emeraldrapids"
[workloads]
use = ["binder"]
[factors]
profile = ["none", "autofdo"]
[design]
layouts = 2
"""
TRAINED = "profile=autofdo"
# The v0 mangling (RFC 2603): `_R`, a path, and the crate's name with its length before it.
DRIVER = re.compile(r"_R\w*11rust_binder\w*")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if ALL not in os.environ:
        pytest.skip("its two kernels take minutes each: make test-all builds them")
    if find_private_root(RUST) is None:
        add_toolchain(RUST)
    folder = tmp_path_factory.mktemp("rust")
    study = folder / "study.toml"
    study.write_text(STUDY)
    done = kernsmith(folder, "run", str(study), "-o", str(folder / "result"), "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def kernel_of(document: dict[str, Any], name: str) -> Kernel:
    (variant,) = (each for each in document["variants"] if each["name"] == name)
    return named_kernel(variant["vmlinux"])


@pytest.fixture(scope="module")
def trained(document: dict[str, Any]) -> Kernel:
    return kernel_of(document, TRAINED)


@pytest.fixture(scope="module")
def profile(trained: Kernel, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The profile that the kernel was built with, as LLVM's text."""
    (read,) = (w for w in trained.provenance["command"] if w.startswith("CLANG_AUTOFDO_PROFILE="))
    text = tmp_path_factory.mktemp("profile") / "text"
    merge = [find_toolchain().tool("llvm-profdata"), "merge", "--sample", "--text"]
    process.run([*merge, read.partition("=")[2], "-o", text], timeout=120)
    return text.read_text()


def test_the_trained_kernel_is_faster_at_what_the_driver_does(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert {run["status"] for run in document["runs"]} == {"ok"}
    (cycles,) = (
        verdict
        for verdict in document["verdicts"]
        if (verdict["variant"], verdict["metric"]) == (TRAINED, "model_cycles")
        and verdict["workload"] == "binder"
    )
    assert cycles["ci"][1] < 1


def test_the_linkers_map_has_the_names_that_symbols_have(trained: Kernel) -> None:
    """So a layout moves functions in Rust in the replay as in the linked kernel."""
    names = [symbol.name for symbol in read_system_map(trained.system_map) if is_function(symbol)]
    drivers = [name for name in names if DRIVER.fullmatch(name)]
    assert len(drivers) > 100
    assert all(map(read_link_map(link_map(trained)).knows, drivers))


def test_replayed_layouts_are_what_booting_them_gives(document: dict[str, Any]) -> None:
    assert len(document["checks"]) == 4
    for check in document["checks"]:
        assert check["holds"], check


def test_functions_in_rust_are_in_the_profile_and_what_is_inlined_in_them(profile: str) -> None:
    """The text has a function's line at the margin, and what was inlined there indented below."""
    functions = re.findall(r"^(_R\w+)[.\w]*:(\d+):\d+$", profile, re.MULTILINE)
    inlined = re.findall(r"^ +[\d.]+: (_R\w+):\d+$", profile, re.MULTILINE)
    assert sum(DRIVER.fullmatch(name) is not None for name, _ in functions) > 10
    assert sum(DRIVER.fullmatch(name) is not None for name in inlined) > 10


def test_functions_in_rust_are_placed_hot(document: dict[str, Any], trained: Kernel) -> None:
    def placed(kernel: Kernel, group: str) -> set[str]:
        lines = link_map(kernel).read_text().splitlines()
        names = (re.search(rf":\({re.escape(group)}({DRIVER.pattern})\)$", line) for line in lines)
        return {found[1] for found in names if found}

    assert len(placed(trained, ".text.hot.")) > 5
    assert not placed(kernel_of(document, "profile=none"), ".text.hot.")
    assert any(
        name.endswith("rust_binder_main.o") for _, _, name in input_sections(link_map(trained))
    )
