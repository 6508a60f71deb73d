# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole chain on real kernels: AutoFDO, Propeller, the best order, each trained on the last.

The kernel with AutoFDO's profile is that of `test_study_run`. Two more are built: one with the map
of blocks, one with Propeller's profile; each compiles only what training has run.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_study_run import kernsmith

from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.kbuild import command_in
from kernsmith.kernel.link import relink
from kernsmith.kernel.link_map import link_map
from kernsmith.kernel.symbols import fixed_spans, read_system_map

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("optimize")]

TRAINED = ("pipe", "file")
JUDGED = (*TRAINED, "fork")
STUDY = f"""
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = {list(JUDGED)}
train = {list(TRAINED)}
[factors]
profile = ["none", "autofdo", "autofdo+propeller", "autofdo+propeller+layout"]
[design]
layouts = 6
"""
AUTOFDO = "profile=autofdo"
PROPELLER = f"{AUTOFDO}+propeller"
LAYOUT = f"{PROPELLER}+layout"


@pytest.fixture(scope="module")
def document(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("propeller")
    study = folder / "study.toml"
    study.write_text(STUDY)
    found: dict[str, Any] = json.loads(kernsmith(folder, "run", str(study), "--json").stdout)
    return found


@pytest.fixture(scope="module")
def kernel(document: dict[str, Any]) -> Kernel:
    (variant,) = (each for each in document["variants"] if each["name"] == PROPELLER)
    return named_kernel(variant["vmlinux"])


def test_each_step_adds_to_the_one_below(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    ratios = {
        verdict["variant"]: verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("l1i_misses", "overall-trained")
    }
    assert ratios[PROPELLER] < 0.95 * ratios[AUTOFDO] < 0.95
    assert ratios[LAYOUT] < ratios[PROPELLER]


def test_nobody_says_a_word_but_objtool_of_tables_of_jumps_in_cold_parts(kernel: Kernel) -> None:
    """clang writes the cases that cannot be as jumps to the end of the cold part, and there objtool
    stops reading the table: it takes what only later cases reach for unreachable."""
    log = (kernel.folder / "build.log").read_text(encoding="utf-8", errors="replace")
    known = r"objtool: \w+\.cold\+0x[0-9a-f]+: unreachable instruction$"
    warnings = re.findall(r".*\bwarning\b.*", log, re.IGNORECASE)
    assert not [each for each in warnings if not re.search(known, each)]
    assert len(warnings) < 4


def test_hot_functions_have_cold_parts_and_those_of_regions_none(kernel: Kernel) -> None:
    symbols = read_system_map(kernel.system_map)
    cold = [symbol for symbol in symbols if symbol.name.endswith(".cold")]
    assert len(cold) > 300
    regions = fixed_spans(symbols)
    whole = {s.name for s in symbols if any(begin <= s.address < end for begin, end in regions)}
    assert "__schedule" in whole
    assert not [each.name for each in cold if each.name.removesuffix(".cold") in whole]


def test_the_kernel_is_linked_in_the_order_of_the_profile_and_can_be_in_others(
    kernel: Kernel,
) -> None:
    (profile,) = (
        word.partition("=")[2]
        for word in command_in(kernel, kernel.folder)
        if word.startswith("CLANG_PROPELLER_PROFILE_PREFIX=")
    )
    assert kernel.order == Path(f"{profile}_ld_profile.txt").read_text().split()
    assert link_map(kernel).exists()
    symbols = read_system_map(kernel.system_map)
    address = {symbol.name: symbol.address for symbol in symbols}
    regions = fixed_spans(symbols)
    movable = [
        name
        for name in kernel.order
        if not any(begin <= address[name] < end for begin, end in regions)
    ]
    first, second = movable[0], movable[-1]
    assert address[first] < address[second]
    image = relink(kernel, "test-turned", [second, first])
    turned = {s.name: s.address for s in read_system_map(image.with_name("System.map"))}
    assert turned[second] < turned[first]


def test_held_out_workloads_are_judged_apart(document: dict[str, Any]) -> None:
    judged = {
        verdict["workload"]: verdict["trained"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["variant"]) == ("model_cycles", PROPELLER)
    }
    assert {name: judged[name] for name in JUDGED} == {name: name in TRAINED for name in JUDGED}
