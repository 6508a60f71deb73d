# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules by another linker than the kernel, on real kernels: studies/module-linkers.toml whole.

It costs three builds of the config `modules`. An ordinary test run takes part in it when they are
there; `make test-all` builds them.
"""

import json
import os
import re
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.link_rules import FILE
from kernsmith.kernel.taken_objects import read_linked
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.paths import shipped
from kernsmith.process import run

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("modules")]

STUDY = shipped("studies/module-linkers.toml")
LOADED = {
    "algif_skcipher", "camellia_generic", "serpent_generic", "twofish_common", "twofish_generic",
    "exportfs", "overlay",
}  # fmt: skip


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("module-linkers")
    plan = json.loads(kernsmith(folder, "plan", str(STUDY), "--json").stdout)
    if not os.environ.get(ALL) and not all(build["cached"] for build in plan["builds"]):
        pytest.skip("three kernels are not built yet: it takes minutes, and make test-all does it")
    found: dict[str, Any] = json.loads(kernsmith(folder, "run", str(STUDY), "--json").stdout)
    return found


@pytest.fixture(scope="module")
def kernels(document: dict[str, Any]) -> dict[str, Kernel]:
    return {each["name"]: named_kernel(each["vmlinux"]) for each in document["variants"]}


def test_all_kernels_boot_and_load_their_modules(
    document: dict[str, Any], kernels: dict[str, Kernel]
) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    assert all(set(kernel.modules) == LOADED for kernel in kernels.values())


def test_modules_and_nothing_else_are_the_other_linkers(kernels: dict[str, Kernel]) -> None:
    plain, other, _ = kernels.values()
    assert read_linked(plain.folder / FILE) == {}
    linked = read_linked(other.folder / FILE)
    assert set(linked.values()) == {"ld.bfd"}
    made = {each["file"] for each in other.provenance["modules"]}
    assert {*made, "fs/overlayfs/overlay.o", "vmlinux.o"} <= linked.keys()
    assert all(name.endswith((".ko", ".o")) for name in linked)
    assert other.provenance["linked"] == linked
    symbols = {kernel.system_map.read_bytes() for kernel in (plain, other)}
    assert len(symbols) == 1, "the kernel itself is the same"
    for name in other.modules:
        assert last_section(plain, name) == ".strtab", "as lld ends its files"
        assert last_section(other, name) == ".shstrtab", "as GNU ld does"


def last_section(kernel: Kernel, module: str) -> str:
    shown = sections_of(kernel, module)
    return re.findall(r"^ +\[ *\d+\] (\S+)", shown, re.MULTILINE)[-1]


def sections_of(kernel: Kernel, module: str) -> str:
    readelf = find_toolchain().tool("llvm-readelf")
    path = kernel.folder / f"modules/{module}.ko"
    return run([readelf, "--sections", "--wide", path], timeout=60).output


def test_modules_have_the_versions_of_what_they_call(kernels: dict[str, Kernel]) -> None:
    """So the kernel checks them, of padded functions as of others, and has taken them."""
    for kernel in kernels.values():
        assert "__versions" in sections_of(kernel, "serpent_generic")


def test_padding_is_in_the_modules(kernels: dict[str, Kernel]) -> None:
    _, other, padded = kernels.values()
    plain, more = (
        int(re.findall(r" \.text +PROGBITS +\S+ \S+ (\S+)", sections_of(kernel, "overlay"))[0], 16)
        for kernel in (other, padded)
    )
    assert plain < more < 1.1 * plain
