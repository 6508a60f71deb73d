# SPDX-License-Identifier: GPL-2.0-or-later
"""A batch as the runner does it on this machine, and as it is read when something went wrong."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import KernsmithError
from kernsmith.machine.batch import (
    PLAN,
    RESULTS,
    Planned,
    Recorded,
    checked_line,
    plan_text,
    read_results,
    whole_lines,
)
from kernsmith.machine.remote.look import runner_program
from kernsmith.machine.running import running_kernel

_SEIZE, _ALL = 0x4206, 0x40000000  # PTRACE_SEIZE, __WALL
PIPE = Planned("aa", "-", "pipe", rounds=3, warmup=1, runs=2, seconds=60)


def batch(folder: Path, *trials: Planned) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / PLAN).write_text(plan_text(trials))
    return folder


def runner(*words: object) -> process.Completed:
    return process.run([runner_program(), *map(str, words)], timeout=120, check=False)


def results(folder: Path) -> dict[str, Recorded]:
    return read_results((folder / RESULTS).read_text())


def test_what_is_planned_is_run_once_and_told(tmp_path: Path) -> None:
    folder = batch(tmp_path / "b", PIPE, Planned("bb", "-", "null-syscall", 3, 0, 1, 60))
    assert runner("run", folder).returncode == 0
    found = results(folder)
    assert list(found) == ["aa", "bb"]
    assert [len(each.runs) for each in found.values()] == [2, 1]
    assert all(each.ok for each in found.values())
    boot = running_kernel().boot
    assert {run.boot for each in found.values() for run in each.runs} == {boot}
    assert all({"reference_cycles", "seconds"} <= set(each.metrics) for each in found.values())
    assert all(each.metrics["seconds"] > 0 for each in found.values())
    before = (folder / RESULTS).read_text()
    assert runner("run", folder).returncode == 0
    again = (folder / RESULTS).read_text().removeprefix(before)
    assert [line.split()[0] for line in whole_lines(again)] == ["boot"]


def test_a_clock_that_nobody_has_set_did_not_jump(tmp_path: Path) -> None:
    folder = batch(tmp_path / "b", Planned("aa", "-", "pipe", 200, 1, 1, 60))
    runner("run", folder)
    assert not results(folder)["aa"].jumps


def test_trials_of_other_kernels_wait_for_these(tmp_path: Path) -> None:
    own = running_kernel().build_id or "-"
    other = "0123456789abcdef0123456789abcdef01234567"
    folder = batch(
        tmp_path / "b",
        Planned("of-other", other, "pipe", 1, 0, 1, 60),
        Planned("of-this", own, "pipe", 1, 0, 1, 60),
    )
    assert runner("next", folder).output == f"{other}\n"
    runner("run", folder)
    assert list(results(folder)) == ["of-this"]
    assert runner("next", folder).output == f"{other}\n"


def test_a_workload_that_fails_says_why_and_the_next_one_runs(tmp_path: Path) -> None:
    folder = batch(tmp_path / "b", Planned("no", "-", "nothing", 1, 0, 3, 60), PIPE)
    runner("run", folder)
    found = results(folder)
    assert not found["no"].ok
    assert len(found["no"].runs) == 1
    assert found["no"].failure == f"the workload failed with errno {errno.EINVAL} unknown workload"
    assert found["aa"].ok


def test_a_run_that_does_not_end_is_ended(tmp_path: Path) -> None:
    folder = batch(tmp_path / "b", Planned("long", "-", "pipe", 100_000_000, 0, 2, 5))
    runner("run", folder)
    (found,) = results(folder).values()
    assert found.done
    assert [run.status for run in found.runs] == [errno.ETIMEDOUT]
    assert found.failure.endswith("no end after 5 s")


def test_in_the_background_it_outlives_who_started_it_and_one_can_wait_for_it(
    tmp_path: Path,
) -> None:
    folder = batch(tmp_path / "b", PIPE)
    assert runner("start", folder, tmp_path / "said").returncode == 0
    assert runner("wait", folder).returncode == 0
    assert results(folder)["aa"].ok


def test_what_a_runner_in_the_background_complains_of_is_kept(tmp_path: Path) -> None:
    folder, said = batch(tmp_path / "b", PIPE), tmp_path / "said"
    (folder / RESULTS).symlink_to("/dev/full")
    assert runner("start", folder, said).returncode == 0
    runner("wait", folder)
    assert said.read_text() == ("kernsmith-runner: write of the results: No space left on device\n")


def test_a_workload_that_does_not_die_is_left_and_so_is_its_kernel(tmp_path: Path) -> None:
    """A process that somebody traces stays behind its death, as one does that the kernel keeps."""
    folder = batch(tmp_path / "b", Planned("long", "-", "null-syscall", 100_000_000, 0, 2, 1), PIPE)
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    with subprocess.Popen([runner_program(), "run", folder], stderr=subprocess.PIPE) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while not (found := children.read_text().split()):
            time.sleep(0.01)
        if trace(_SEIZE, int(found[0]), None, None):
            pytest.skip(f"nothing can be traced here: errno {ctypes.get_errno()}")
        try:
            _, said = running.communicate(timeout=60)
        finally:
            os.waitpid(int(found[0]), _ALL)
    assert running.returncode == 1
    assert b"the workload was killed and stays in the kernel" in said
    assert list(results(folder)) == ["long"], "nothing more is measured there"
    assert results(folder)["long"].stuck
    assert results(folder)["long"].failure.endswith("stays in the kernel")


def test_a_run_that_was_ended_is_not_stuck() -> None:
    text = said("begin aa 0 b 0 0", "end aa 0 110 9 9 no end after 1 s", "done aa 110")
    assert not read_results(text)["aa"].stuck
    assert not read_results(said("begin aa 0 b 0 0"))["aa"].stuck


def test_two_do_not_run_one_batch(tmp_path: Path) -> None:
    folder = batch(tmp_path / "b", Planned("long", "-", "pipe", 100_000_000, 0, 1, 5))
    assert runner("start", folder, tmp_path / "said").returncode == 0
    refused = runner("run", folder)
    assert refused.returncode == 3
    assert "is being run already" in refused.output
    runner("wait", folder)
    assert len(results(folder)) == 1


def test_a_trial_in_which_the_runner_died_is_not_begun_again(tmp_path: Path) -> None:
    long = Planned("long", "-", "null-syscall", 100_000_000, 0, 1, 60)
    folder = batch(tmp_path / "b", long, PIPE)
    with subprocess.Popen([runner_program(), "run", folder]) as running:
        while not (folder / RESULTS).exists() or "begin long" not in (folder / RESULTS).read_text():
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    assert not results(folder)["long"].done
    assert results(folder)["long"].died("another boot")
    assert not results(folder)["long"].died(running_kernel().boot)
    runner("wait", folder)  # its workload ends with it
    assert runner("run", folder).returncode == 0
    assert len(results(folder)["long"].runs) == 1
    assert results(folder)["aa"].ok


@pytest.mark.parametrize("kept", [1, 9, 20])
def test_a_line_that_was_not_written_whole_is_none(tmp_path: Path, kept: int) -> None:
    """Power fails while a line is written; the runner goes on behind what is left of it."""
    folder = batch(tmp_path / "b", PIPE)
    torn = checked_line("begin aa 0 0123-4567 1 1")[:kept]
    (folder / RESULTS).write_text(torn)
    assert runner("run", folder).returncode == 0
    assert results(folder)["aa"].ok
    assert (folder / RESULTS).read_text().startswith(f"{torn}\n")


def test_a_line_that_was_changed_is_none() -> None:
    line = checked_line("metric aa 0 seconds=1.5")
    assert list(whole_lines(line)) == ["metric aa 0 seconds=1.5"]
    assert list(whole_lines(line.replace("1.5", "1.4"))) == []
    assert list(whole_lines("\n\nno sum at all\n")) == []


def said(*lines: str) -> str:
    return "".join(map(checked_line, lines))


def test_figures_are_medians_of_what_all_runs_have() -> None:
    text = said(
        *(
            line
            for run, (value, more) in enumerate([(3, "x=1"), (1, "x=1"), (2, "y=1")])
            for line in (
                f"begin aa {run} boot 0 0",
                f"metric aa {run} seconds={value}",
                f"metric aa {run} {more}",
                f"end aa {run} 0 10 10 ",
            )
        ),
        "done aa 0",
    )
    assert read_results(text)["aa"].metrics == {"seconds": 2}


def test_what_a_run_could_not_measure_is_told() -> None:
    why = "kernsmith: absent seconds: the clock goes by ticks"
    text = said("begin aa 0 b 0 0", f"said aa 0 {why}", "end aa 0 0 9 9 ", "done aa 0")
    found = read_results(text)["aa"]
    assert found.ok
    assert found.beside == {"absent": {"seconds": "the clock goes by ticks"}}


def test_of_the_parts_of_several_runs_the_least_is_kept() -> None:
    text = said(
        *("begin aa 0 b 0 0", "said aa 0 kernsmith: chunks 5 9 4", "end aa 0 0 9 9 "),
        *("begin aa 1 b 0 0", "said aa 1 kernsmith: chunks 6 3 4", "end aa 1 0 9 9 "),
        "done aa 0",
    )
    assert read_results(text)["aa"].beside == {"chunks": [5, 3, 4]}


def test_a_wall_clock_that_is_set_during_a_run_is_told() -> None:
    second = 10**9
    text = said("begin aa 0 b 0 0", f"end aa 0 0 {2 * second} {-3600 * second} ", "done aa 0")
    assert read_results(text)["aa"].jumps == (-3602.0,)


def test_foreign_words_are_skipped() -> None:
    text = said(
        "begin aa 0 b 0 0", "metric aa 0 seconds=inf", "metric aa 0 seconds=", "metric zz 0 a=1",
        "end aa", "begin", "hello there", "metric aa 0 a b=1", "end aa 0 5 1 1 no such file",
        "done aa 5",
    )  # fmt: skip
    found = read_results(text)
    assert list(found) == ["aa"]
    assert found["aa"].metrics == {}
    assert found["aa"].failure == "the workload failed with errno 5 no such file"


def test_a_name_is_a_word() -> None:
    with pytest.raises(KernsmithError, match="a batch cannot name"):
        plan_text([Planned("a b", "-", "pipe", 1, 0, 1, 1)])
