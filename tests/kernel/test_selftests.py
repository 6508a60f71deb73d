# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own selftests: compiled from a source, run on a kernel, and read."""

import os
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.engine.oracles import WORDS, select_oracles
from kernsmith.guest.elf import program_kind
from kernsmith.guest.own import read_own_workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.selftests import NoSelftests, compile_selftests, listed_selftests
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, find_machine, run_once
from kernsmith.machine.ktap import PASSED

WELL = """\
#include <stdio.h>
int main(void) { puts("TAP version 13\\n1..1\\nok 1 x"); return 0; }
"""


def made_source(folder: Path, programs: dict[str, str]) -> Source:
    """A tree with selftests, by their paths without `.c`."""
    for name, text in programs.items():
        path = folder / "tools/testing/selftests" / f"{name}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Source("made", folder, "7.3", f"files:{folder}", "made")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))


def test_what_a_source_has_is_compiled_and_the_rest_is_told(tmp_path: Path) -> None:
    first, second, *others = listed_selftests()
    said: list[str] = []
    source = made_source(tmp_path / "tree", {first: WELL, second: "int main(void) { nonsense }"})
    found = compile_selftests(source, said.append)
    name = Path(first).name
    assert found.programs == (name,)
    assert found.left_out == (second, *others)
    assert said == [f"selftests left out: {', '.join(found.left_out)}"]
    assert program_kind((found.workload.parent / name).read_bytes()) == "static"
    workload = read_own_workload(found.workload)
    assert (workload.name, workload.rounds, workload.warmup) == ("selftests", 1, 0)
    again = compile_selftests(source, said.append)
    assert again == found, "it is compiled once"


def test_a_source_without_any_is_told(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(NoSelftests, match="of made none of the selftests in tools/testing"):
        compile_selftests(made_source(tmp_path / "tree", {}), lambda said: None)


@pytest.mark.kernel
def test_they_run_on_a_real_kernel_and_are_read(micro_kernel: Kernel, tmp_path: Path) -> None:
    """Programs of ours in the place of the kernel's: what passes, fails, is left out, or hangs."""
    names = listed_selftests()[:4]
    texts = (
        WELL,
        WELL.replace("ok 1", "not ok 1").replace("return 0", "return 1"),
        "int main(void) { return 4; }\n",
        "int main(void) { return *(volatile int *)8; }\n",
    )
    source = made_source(tmp_path / "tree", dict(zip(names, texts, strict=True)))
    workload = read_own_workload(compile_selftests(source, lambda said: None).workload)
    machine = find_machine("tcg", "skylake", {})
    ran = run_once(machine, micro_kernel.vmlinux, Job(workload, tmp_path / "run", words=WORDS))
    assert ran.ok, ran.reason
    (oracle,) = select_oracles(["selftests"])
    found = {case.name: case.result for case in oracle.read(ran, workload.name).cases}
    well, wrong, left_out, killed = (Path(name).name for name in names)
    assert found == {
        f"{well}.x": "passed", f"{wrong}.x": "failed", left_out: "skipped", killed: "failed"
    }  # fmt: skip


@pytest.mark.kernel
@pytest.mark.skipif(ALL not in os.environ, reason="make test-all has it: they take minutes")
def test_the_kernels_own_pass(micro_kernel: Kernel, source: Source, tmp_path: Path) -> None:
    compiled = compile_selftests(source, lambda said: None)
    workload = read_own_workload(compiled.workload)
    machine = find_machine("tcg", "skylake", {"time_limit": 1200})
    ran = run_once(machine, micro_kernel.vmlinux, Job(workload, tmp_path / "run", words=WORDS))
    (oracle,) = select_oracles(["selftests"])
    found = oracle.read(ran, workload.name)
    assert not found.ended_badly
    assert sum(case.result == PASSED for case in found.cases) > 80
