# SPDX-License-Identifier: GPL-2.0-or-later
"""Commits of known truth: one adds work to every write, the others add code that nobody calls."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import series as series_module
from kernels import kept_kernel
from kernsmith import paths
from kernsmith.files import locked
from kernsmith.kernel.artifact import Kernel, stored_kernel
from kernsmith.kernel.link import layout_image
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.regions import regions_of
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.symbols import read_system_map
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import read_counts
from kernsmith.profile.autofdo import make_autofdo
from kernsmith.profile.staleness import match_profile
from kernsmith.study import Variant
from series import SLOW, STUB, STUB_ON, make_series, write_config

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("series")]

GOOD = 8
# What is left between good and slow is one kernel to build.
BROKEN = (9, 10)


@pytest.fixture(scope="module")
def repository() -> Path:
    """The series, made once: what is kept is named by what makes it."""
    made_by = hashlib.sha256(Path(series_module.__file__).read_bytes()).hexdigest()[:12]
    folder = paths.cache_root() / "tests" / f"series-{made_by}-broken-9-10"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name("series.lock")):
        if not folder.exists():
            make_series(folder, broken=BROKEN)
    return folder


@pytest.fixture(scope="module")
def commits(repository: Path) -> list[str]:
    words = ["git", "-C", str(repository), "rev-list", "--reverse", "main"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture(scope="module")
def common(
    repository: Path, micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """What all commands here have in common; one ledger, so that nothing is measured twice.

    With the micro kernel, ccache has all objects but the changed ones.
    """
    folder = tmp_path_factory.mktemp("series")
    write_config(folder / "series.config")
    return [
        "--source", str(repository), "--config", str(folder / "series.config"), "--workload",
        "pipe", "--layouts", "4..12", "--metric", "kernel_instructions", "--json",
        "--ledger", f"sqlite:///{folder}/ledger.sqlite",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def found(
    commits: list[str], common: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The bisection, killed as soon as it has decided its first commit, and begun again."""
    folder = tmp_path_factory.mktemp("bisect")
    words = ["bisect", "--good", commits[GOOD], "--bad", commits[SLOW], "-o", str(folder)]
    command = [sys.executable, "-m", "kernsmith", *words, *common]
    victim = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    while len(decided(folder)) < 1:
        assert victim.poll() is None, "the bisection ended before it could be killed"
        time.sleep(0.05)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    kept, *_ = decided(folder)
    document = run(folder, *words, *common)
    assert document["whole"] == kept
    return document


def decided(folder: Path) -> list[dict[str, Any]]:
    lines = [line for path in folder.glob("state-*/steps.jsonl") for line in path.open()]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def run(folder: Path, *words: str, expect: int = 0) -> dict[str, Any]:
    command = [sys.executable, "-m", "kernsmith", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def overall(document: dict[str, Any], metric: str = "kernel_instructions") -> dict[str, Any]:
    (verdict,) = (
        v for v in document["verdicts"] if v["metric"] == metric and v["workload"] == "overall"
    )
    return verdict


def test_bisect_finds_the_commit_and_skips_what_does_not_build(
    found: dict[str, Any], commits: list[str]
) -> None:
    assert [commit["id"] for commit in found["first_bad"]] == [commits[SLOW]]
    decisions = {step["commit"]: step["decision"] for step in found["steps"]}
    skipped = {commit for commit, decision in decisions.items() if decision == "skip"}
    assert skipped
    assert skipped <= {commits[number] for number in BROKEN}
    assert decisions[commits[SLOW - 1]] == "good"
    assert found["whole"]["commit"] == commits[SLOW]
    assert found["whole"]["decision"] == "bad"
    assert f"# first bad commit: [{commits[SLOW]}]" in found["log"]


def test_bisect_says_what_the_commit_itself_did(found: dict[str, Any]) -> None:
    """Some 28 instructions a write: half a per cent of what the workload does."""
    instructions = overall(found["verdict"])
    assert instructions["significant"]
    (attributed,) = found["verdict"]["attributions"]
    assert "vfs_write" in {each["name"] for each in attributed["functions"]}
    assert 1.004 < instructions["ci"][0] <= instructions["ratio"] < 1.007
    assert "more kernel_instructions" in instructions["sentence"]


def test_the_repository_stays_as_it_is(found: dict[str, Any], repository: Path) -> None:
    there = {path.name for path in repository.iterdir()}
    assert not {name for name in there if name.startswith("BISECT")}
    words = ["git", "-C", str(repository), "for-each-ref", "--format=%(refname)"]
    refs = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert refs == ["refs/heads/main", f"refs/heads/{STUB}"]


def test_unused_code_alone_is_no_difference(
    found: dict[str, Any], commits: list[str], common: list[str], tmp_path: Path
) -> None:
    document = run(
        tmp_path, "compare", commits[GOOD], commits[SLOW - 1], *common, "--fail-above", "0%"
    )
    verdict = overall(document)
    assert not verdict["significant"]
    assert "no significant difference" in verdict["sentence"]
    assert verdict["ratio"] == pytest.approx(1, abs=5e-4)
    assert not overall(document, "model_cycles")["significant"]
    (luck,) = (luck for luck in document["luck"] if luck["metric"] == "kernel_instructions")
    assert luck["spread"].keys() == {commits[GOOD], commits[SLOW - 1]}


def test_regions_begin_at_one_address_in_both_kernels_of_a_layout(
    found: dict[str, Any], common: list[str]
) -> None:
    url = common[common.index("--ledger") + 1]
    with create_engine(url).connect() as connection:
        boots = connection.execute(
            text("select distinct kernel, layout, image from boots where layout like 'random:%'")
        ).all()
    kernels: dict[tuple[str, frozenset[tuple[str, int]]], set[str]] = {}
    for key, layout, image in boots:
        kernel = stored_kernel(key)
        assert kernel is not None
        path = layout_image(kernel, image.partition("/")[2]).with_name("System.map")
        regions = regions_of(read_system_map(path))
        marks = frozenset((region.section, region.start) for region in regions)
        assert len(marks) > 5
        kernels.setdefault((layout, marks), set()).add(key)
    # The kernel of one image is measured beside the other of some image of the same layout.
    assert len(kernels) >= 4
    assert min(len(both) for both in kernels.values()) > 1


def test_a_regression_fails_where_that_is_asked_for(
    found: dict[str, Any], commits: list[str], common: list[str], tmp_path: Path
) -> None:
    words = ("compare", commits[GOOD], commits[SLOW], *common)
    slower = run(tmp_path, *words, "--fail-above", "0%", expect=3)
    assert overall(slower)["ratio"] > 1
    (look,) = slower["sequential"]
    assert look["p"] < 0.05
    # By cycles, luck of placement is larger; the function that was changed executes more.
    (attributed,) = slower["attributions"]
    executed = {each["name"]: each["kernel_instructions"] for each in attributed["functions"]}
    more = {name: after - before for name, (before, after) in executed.items()}
    assert more["vfs_write"] == max(more.values()) > 0.3 * executed["vfs_write"][0]
    assert run(tmp_path, *words, "--fail-above", "5%") == slower | {
        "seconds": pytest.approx(slower["seconds"], abs=600),
        "steps": [],  # all of it was in the ledger
    }


def test_a_profile_of_twelve_commits_before_fits_but_for_what_was_changed(
    found: dict[str, Any], micro_kernel: Kernel, tmp_path: Path
) -> None:
    """The micro kernel is that of the first commit."""
    counts, toolchain = tmp_path / "old.counts", find_toolchain()
    words = ("profile", "record", str(micro_kernel.folder), "--counts", str(counts))
    run(tmp_path, *words, "--workload", "pipe", "--json")
    profile = make_autofdo(read_counts(counts), micro_kernel, toolchain, tmp_path / "old.afdo")
    _, slow = found["verdict"]["variants"]
    told = match_profile(profile, Path(slow["vmlinux"]), toolchain)
    assert told.functions == pytest.approx(1)
    assert 0.99 < told.found < told.carried <= 1
    lost = {each.function: each for each in told.lost}
    assert lost["vfs_write"].share == max(each.share for each in told.lost)
    assert all(each.known for each in told.lost)


def test_a_bad_revision_that_is_not_worse_is_told(
    found: dict[str, Any], commits: list[str], common: list[str], tmp_path: Path
) -> None:
    words = ("bisect", "--good", commits[GOOD], "--bad", commits[SLOW - 1], *common)
    document = run(tmp_path, *words, expect=1)
    assert document["first_bad"] == document["steps"] == []
    assert document["whole"]["decision"] == "good"


def test_a_stub_in_front_of_the_entry_code_is_no_difference(
    repository: Path, commits: list[str], common: list[str], tmp_path: Path
) -> None:
    """One binary of each says that it is one: all entry code lies elsewhere."""
    config = common[common.index("--config") + 1]
    for revision in (commits[STUB_ON], STUB):
        source = f"git:{repository}@{revision}"
        kept_kernel(make_recipe(Variant(source, config), resolve_source(source, paths.sources())))
    document = run(
        tmp_path, "compare", commits[STUB_ON], STUB, "--source", str(repository),
        "--config", config, "--workload", "signal", "--layouts", "16", "--json",
        "--ledger", f"sqlite:///{tmp_path}/ledger.sqlite",
    )  # fmt: skip
    cycles = overall(document, "model_cycles")
    assert abs(cycles["default_ratio"] - 1) > 0.01
    assert not cycles["significant"]
    assert "no significant difference" in cycles["sentence"]
    assert cycles["ci"] == pytest.approx([1, 1], abs=1e-3)
    assert overall(document)["ratio"] == pytest.approx(1, abs=5e-4)


def test_nothing_is_measured_twice(found: dict[str, Any], common: list[str]) -> None:
    url = common[common.index("--ledger") + 1]
    with create_engine(url).connect() as connection:
        runs = connection.execute(text("select count(*), count(distinct trial) from runs")).one()
    assert runs[0] == runs[1]


def test_a_history_has_the_commit_that_adds_work_and_none_that_adds_a_function(
    found: dict[str, Any], commits: list[str], common: list[str], tmp_path: Path
) -> None:
    """Three revisions whose kernels the bisection has built."""
    assert found["first_bad"]
    words = list(common)
    words[words.index("4..12")] = "4"
    ends = ("--from", commits[GOOD], "--to", commits[SLOW], "--every", "3")
    site, comment = tmp_path / "site", tmp_path / "comment.md"
    command = ("watch", *ends, *words, "-o", str(site), "--comment", str(comment))
    document = run(tmp_path, *command, "--fail-above", "0.2%", expect=3)
    assert [each["commit"]["id"] for each in document["revisions"]] == [
        commits[number] for number in (GOOD, GOOD + 3, SLOW)
    ]
    (history,) = document["histories"]
    (point,) = history["change_points"]
    assert (point["revision"], point["before"], point["worse"]) == (2, 1, True)
    assert {"index.html", "pipe.html", "watch.json"} <= {each.name for each in site.iterdir()}
    assert (site / "study" / "report.html").exists()
    assert "vfs: trace every write" in comment.read_text()
    assert run(tmp_path, *command, "--fail-above", "1%")["histories"] == [history]
