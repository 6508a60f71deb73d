# SPDX-License-Identifier: GPL-2.0-or-later
"""BOLT as the peer, on real kernels: Linux 6.12, which llvm-bolt 22 reads, and 7.3, which it does
not.

Where llvm-bolt and the micro kernel of 6.12 are there, an ordinary test run takes part in it;
`make test-all` builds the kernel.
"""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith import process
from kernsmith.kernel import bolt
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.link import relink
from kernsmith.kernel.symbols import read_system_map
from kernsmith.kernel.toolchain import find_toolchain
from older_sources import older_source

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("older")]

STUDY = """
[source]
use = "{source}"
config = "micro"
[machine]
cpu = "emeraldrapids"
[workloads]
use = ["pipe", "file"]
[factors]
profile = ["none", "bolt"]
[design]
layouts = 3
layouts_by = "boot"
"""
BOLT = "profile=bolt"
NM = find_toolchain().tool("llvm-nm")
SUFFIX = NM.rpartition("llvm-nm")[2]
PROGRAM = f"{bolt.PROGRAM}{SUFFIX}"


def run(source: str, folder: Path, *, expect: int = 0) -> dict[str, Any]:
    if not shutil.which(PROGRAM):
        pytest.skip(f"{PROGRAM} is not installed: apt-get install bolt{SUFFIX}")
    study = folder / "study.toml"
    study.write_text(STUDY.format(source=source))
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    if not os.environ.get(ALL) and not plan["builds"][0]["cached"]:
        pytest.skip("a kernel is not built yet: it takes minutes, and make test-all does it")
    result = folder / "result"
    done = kernsmith(folder, "run", str(study), "-o", str(result), "--json", expect=expect)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    older_source("debian:6.12")
    return run("debian:6.12", tmp_path_factory.mktemp("bolt"))


@pytest.fixture(scope="module")
def kernel(document: dict[str, Any]) -> Kernel:
    (variant,) = (each for each in document["variants"] if each["name"] == BOLT)
    return named_kernel(variant["vmlinux"])


def test_a_rewritten_kernel_is_a_level_like_any_other(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert {run["status"] for run in document["runs"]} == {"ok"}
    ratios = {
        verdict["metric"]: verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["variant"], verdict["workload"]) == (BOLT, "overall")
    }
    assert ratios["taken_branches"] < 0.85
    assert ratios["model_cycles"] < 0.95


def test_most_of_what_ran_was_rewritten_and_what_the_kernel_patches_was_not(kernel: Kernel) -> None:
    log = (kernel.folder / "build.log").read_text(encoding="utf-8", errors="replace")
    (covered,) = re.findall(r"rewritten functions cover ([\d.]+)% of the execution", log)
    assert float(covered) > 60
    skipped = (kernel.folder / bolt.SKIPPED).read_text().split()
    assert r"__d_lookup_rcu(/.*)?" in skipped
    assert kernel.provenance["bolted"]["options"] == list(bolt.OPTIONS)


def test_functions_stay_where_they_were_linked_in_any_layout(kernel: Kernel) -> None:
    symbols = read_system_map(kernel.system_map)
    addresses = {s.name: s.address for s in symbols}
    first, second = sorted(("vfs_read", "vfs_write"), key=addresses.__getitem__)
    image = relink(kernel, "test-bolt-turned", [second, first])
    turned = {s.name: s.address for s in read_system_map(image.with_name("System.map"))}
    assert turned[second] < turned[first]
    for vmlinux, known in (
        (kernel.vmlinux, addresses),
        (image, turned),
    ):
        said = [line.split() for line in process.run([NM, vmlinux], timeout=60).output.splitlines()]
        own = {words[2]: int(words[0], 16) for words in said if len(words) == 3}
        assert own["vfs_read"] == known["vfs_read"]
        assert own["__bolt_reserved_end"] - own["__bolt_reserved_start"] == 0x200000


def test_where_llvm_bolt_fails_the_study_says_so_and_goes_on(tmp_path: Path) -> None:
    """llvm-bolt 22 does not read Linux 7.3: docs/bolt.md. A later one may."""
    if SUFFIX != "-22":
        pytest.skip(f"what {PROGRAM} does with Linux 7.3 has not been looked at")
    found = run("debian:7.3", tmp_path, expect=1)
    (failure,) = found["failures"]
    assert "perf2bolt-22 crashed on " in failure
    assert "it may not know all tables of linux-7.3" in failure
    baseline = [run for run in found["runs"] if run["variant"] == "profile=none"]
    assert baseline
    assert {run["status"] for run in baseline} == {"ok"}
