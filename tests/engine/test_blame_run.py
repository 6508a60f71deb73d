# SPDX-License-Identifier: GPL-2.0-or-later
"""A planted miscompilation is found on a real kernel, by links and boots of the micro kernel."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.provenance import write_provenance
from planted import Mistake, copied_objects, planted_kernel, recompiled, waiting_step

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("blame")]

MISTAKE = Mistake("fs/pipe.o", "anon_pipe_read", 0)
"""Reading from a pipe: the workload says so at once, and the kernel lives."""


def bad_kernel(kernel: Kernel, folder: Path, others: str) -> Kernel:
    """Written down, so that the command line finds it by its folder."""
    return written(planted_kernel(kernel, folder, MISTAKE, others))


def written(bad: Kernel) -> Kernel:
    (bad.folder / "vmlinux").write_text("never looked at: the objects are bad")
    write_provenance(bad.folder, bad.provenance)
    return bad


def blame(good: Kernel, bad: Kernel, folder: Path, *others: str) -> list[str]:
    words = ["--good", good.key, "--bad", str(bad.folder), "--test", "pipe", "-o", str(folder)]
    return [sys.executable, "-m", "kernsmith", "blame", *words, *others, "--json"]


def judged(folder: Path) -> list[str]:
    """The mixed kernels of which it is known what they are."""
    lines = [line for path in folder.glob("state-*/tests.jsonl") for line in path.open()]
    return [json.loads(line)["mix"] for line in lines if line.endswith("\n")]


def test_the_good_objects_alone_give_the_good_kernel(micro_kernel: Kernel, tmp_path: Path) -> None:
    image = Pair(micro_kernel, micro_kernel).link((), tmp_path / "mix")
    assert image.with_name("System.map").read_bytes() == micro_kernel.system_map.read_bytes()


@pytest.mark.parametrize(
    "others",
    [
        "fs/",
        pytest.param(
            "", marks=pytest.mark.skipif(ALL not in os.environ, reason="make test-all has it")
        ),
    ],
)
def test_a_planted_miscompilation_is_found(
    others: str, micro_kernel: Kernel, tmp_path: Path
) -> None:
    """Killed on the way, it goes on from there."""
    bad = bad_kernel(micro_kernel, tmp_path / "bad", others)
    command = blame(micro_kernel, bad, tmp_path / "found")
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(judged(tmp_path / "found")) < 3:
        assert victim.poll() is None, "the search ended before it could be killed"
        time.sleep(0.05)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    functions = [MISTAKE.function]
    narrowed = [{"functions": functions, "along": []}]
    assert found["blamed"] == [
        {"object": MISTAKE.object, "functions": functions, "narrowed": narrowed, "why": ""}
    ]
    assert found["suspects"] > (50 if others else 800)
    of_objects = [each for each in found["tests"] if each["functions"] is None]
    of_functions = [
        (each["functions"], each["verdict"]) for each in found["tests"][len(of_objects) :]
    ]
    assert len(of_objects) <= 25
    assert sorted(of_functions) == [(0, "good"), (1, "bad")]
    mixes = judged(tmp_path / "found")
    assert len(mixes) == len(set(mixes)) == len(found["tests"])


def test_a_function_that_costs_more_is_found_by_a_metric(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    """All functions of the object differ, and cost something more by that; one costs much."""
    if ALL not in os.environ:
        pytest.skip("make test-all has it: some forty links and boots")
    bad = copied_objects(micro_kernel, tmp_path / "bad")
    wait = waiting_step(tmp_path, MISTAKE.function, 100)
    recompiled(micro_kernel, MISTAKE.object, bad.output / MISTAKE.object, "pad=1", wait)
    options = ["--metric", "kernel_instructions", "--layouts", "3..8", "--among", "fs/*.o"]
    command = blame(micro_kernel, written(bad), tmp_path / "found", *options)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (blamed,) = found["blamed"]
    assert blamed["object"] == MISTAKE.object
    assert [each["functions"] for each in blamed["narrowed"]] == [[MISTAKE.function]]
    assert len(blamed["functions"]) > 5
    whole = next(test for test in found["tests"] if test["taken"])
    assert found["limit"] == pytest.approx(whole["change"] / 2, rel=0.05)
    one = [test for test in found["tests"] if (test["functions"], test["verdict"]) == (1, "bad")]
    assert one[-1]["low"] > found["limit"], "beyond doubt"
