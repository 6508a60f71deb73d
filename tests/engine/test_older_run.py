# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoFDO on Linux 6.12, which does not know it: the whole chain on real kernels.

It costs two builds of the micro kernel, some minutes each on two cores. An ordinary test run takes
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
STUDY = f"""
[source]
use = "{SOURCE}"
config = "micro"
[machine]
cpu = "emeraldrapids"
[workloads]
use = ["pipe", "file", "fork"]
[factors]
profile = ["none", "autofdo", "autofdo+propeller"]
[design]
layouts = 8
"""
AUTOFDO = "profile=autofdo"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    older_source(SOURCE)
    folder = tmp_path_factory.mktemp("older")
    study = folder / "study.toml"
    study.write_text(STUDY)
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    assert [build["variant"] for build in plan["builds"]] == ["profile=none", AUTOFDO]
    if not os.environ.get(ALL) and not all(build["cached"] for build in plan["builds"]):
        pytest.skip("two kernels are not built yet: it takes minutes, and make test-all does it")
    done = kernsmith(folder, "run", str(study), "-o", str(folder / "result"), "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def kernel_of(document: dict[str, Any], name: str) -> Kernel:
    (variant,) = (each for each in document["variants"] if each["name"] == name)
    return named_kernel(variant["vmlinux"])


def test_the_kernel_is_faster_and_the_rest_is_told(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    assert "needs CONFIG_PROPELLER_CLANG" in document["remarks"][0]
    (ratio,) = (
        verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("model_cycles", "overall")
    )
    assert ratio < 0.93
    report = Path(document["report"]).with_name("report.md").read_text().replace("\\_", "_")
    assert "CONFIG_PROPELLER_CLANG" in report


def test_neither_compiler_nor_linker_says_a_word_that_it_does_not_say_without_a_profile(
    document: dict[str, Any],
) -> None:
    """The tree's objtool does, of jump tables: it is older than such code."""
    said = []
    for name in ("profile=none", AUTOFDO):
        log = (kernel_of(document, name).folder / "build.log").read_text(errors="replace")
        said.append(set(re.findall(r".*\bwarning\b: (?!objtool).*", log, re.IGNORECASE)))
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
