# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoFDO and Propeller on Linux 6.12, which knows neither: the whole chain on real kernels.

It costs four builds of the micro kernel, some minutes each on two cores. An ordinary test run takes
part in it when they are there; `make test-all` builds them.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.reordered import reordered
from kernsmith.kernel.symbols import read_system_map, text_span
from older_sources import older_source

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("older")]

SOURCE = "debian:6.12"
STUDY = """
[source]
use = "debian:6.12"
config = "micro"
[machine]
cpu = "emeraldrapids"
[workloads]
use = ["pipe", "file", "fork"]
[factors]
profile = {stacks}
[design]
layouts = 8
"""
NONE, AUTOFDO, PROPELLER = "profile=none", "profile=autofdo", "profile=autofdo+propeller"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    stacks = ["none", "autofdo", "autofdo+thinlto-dist"]
    return found(tmp_path_factory.mktemp("older"), stacks, [NONE, AUTOFDO])


@pytest.fixture(scope="module")
def propelled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Where Propeller comes behind it, all of AutoFDO's kernel has the map of its blocks."""
    stacks = ["none", "autofdo", "autofdo+propeller"]
    return found(tmp_path_factory.mktemp("propelled"), stacks, [NONE, AUTOFDO, PROPELLER])


def found(folder: Path, stacks: list[str], builds: list[str]) -> dict[str, Any]:
    """The document of a study of these stacks, which takes these builds."""
    older_source(SOURCE)
    study = folder / "study.toml"
    study.write_text(STUDY.format(stacks=json.dumps(stacks)))
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    assert [build["variant"] for build in plan["builds"]] == builds
    if not os.environ.get(ALL) and not all(build["cached"] for build in plan["builds"]):
        pytest.skip("kernels are not built yet: it takes minutes, and make test-all does it")
    done = kernsmith(folder, "run", str(study), "-o", str(folder / "result"), "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def kernel_of(document: dict[str, Any], name: str) -> Kernel:
    (variant,) = (each for each in document["variants"] if each["name"] == name)
    return named_kernel(variant["vmlinux"])


def test_the_kernel_is_faster_and_the_rest_is_told(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    assert "needs CONFIG_LTO_CLANG_THIN_DIST" in document["remarks"][0]
    (ratio,) = (
        verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("model_cycles", "overall")
    )
    assert ratio < 0.93
    report = Path(document["report"]).with_name("report.md").read_text().replace("\\_", "_")
    assert "CONFIG_LTO_CLANG_THIN_DIST" in report


def warnings_of(kernel: Kernel) -> set[str]:
    """What compiler and linker said; objtool is the tree's own."""
    log = (kernel.folder / "build.log").read_text(errors="replace")
    return set(re.findall(r".*\bwarning\b: (?!objtool).*", log, re.IGNORECASE))


def test_propeller_makes_it_faster_still(propelled: dict[str, Any]) -> None:
    assert not propelled["failures"]
    assert all(run["status"] == "ok" for run in propelled["runs"])
    said = " ".join(propelled["remarks"])
    assert "has no CONFIG_AUTOFDO_CLANG" in said and "has no CONFIG_PROPELLER_CLANG" in said
    ratios = {
        verdict["variant"]: verdict["ratio"]
        for verdict in propelled["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("model_cycles", "overall")
    }
    assert ratios[PROPELLER] < ratios[AUTOFDO] - 0.02
    none, propeller = (warnings_of(kernel_of(propelled, name)) for name in (NONE, PROPELLER))
    assert propeller <= none


def test_neither_compiler_nor_linker_says_a_word_that_it_does_not_say_without_a_profile(
    document: dict[str, Any],
) -> None:
    """The tree's objtool does, of jump tables: it is older than such code."""
    said = [warnings_of(kernel_of(document, name)) for name in (NONE, AUTOFDO)]
    assert said[1] <= said[0]


def test_what_did_not_run_is_the_baselines_byte_for_byte(document: dict[str, Any]) -> None:
    """And so is what is no object of the kernel: the vDSO, the decompressor, real-mode code."""
    base, trained = (kernel_of(document, name).output for name in ("profile=none", AUTOFDO))
    (variant,) = (each for each in document["variants"] if each["name"] == AUTOFDO)
    listed = Path(variant["profile"]).with_suffix(".idle").read_text().split()
    idle = [name for name in listed if not name.startswith(".tmp_vmlinux")]
    assert len(idle) > 600
    assert "lib/argv_split.o" in idle
    others = ("arch/x86/entry/vdso/vdso64.so", "arch/x86/realmode/rm/realmode.bin")
    boot = tuple(f"arch/x86/boot/compressed/{name}.o" for name in ("misc", "string", "cmdline"))
    names = (*idle, *others, *boot)
    differ = [n for n in names if (base / n).read_bytes() != (trained / n).read_bytes()]
    assert not differ


def test_hot_code_lies_together_inside_the_text(document: dict[str, Any]) -> None:
    kernel = kernel_of(document, AUTOFDO)
    first, last = text_span(kernel.system_map)
    symbols = read_system_map(kernel.system_map)
    cold = [symbol for symbol in symbols if symbol.name.endswith(".cold")]
    assert len(cold) > 100
    address = {symbol.name: symbol.address for symbol in symbols}
    assert all(first <= symbol.address < last for symbol in cold)
    assert max(symbol.address for symbol in cold) < address["pipe_write"] < last


def test_a_kernel_in_an_order_of_its_own_is_linked_in_it(document: dict[str, Any]) -> None:
    """The tree's script for the link takes one word fewer than newer ones."""
    kernel = kernel_of(document, "profile=none")
    addresses = {s.name: s.address for s in read_system_map(kernel.system_map)}
    first, second = sorted(("vfs_read", "vfs_write"), key=addresses.__getitem__)
    shipped = reordered(kernel, [second, first])
    turned = {s.name: s.address for s in read_system_map(shipped.system_map)}
    assert turned[second] < turned[first]
