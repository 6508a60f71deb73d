# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile coverage`: pages, lcov and pprof of a kernel, or one sentence."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from counted_kernel import make_counted_kernel, random_counts
from kernsmith.kernel.artifact import Kernel
from kernsmith.profile import BranchCounts, write_counts


def _profile(*words: "str | Path") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", "profile", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_counted_kernel(tmp_path_factory.mktemp("kernel"))


@pytest.fixture(scope="module")
def counts(vmlinux: Path) -> Path:
    path = vmlinux.parent / "made.counts"
    write_counts(random_counts(vmlinux, 3), path)
    return path


def test_pages_and_files_of_other_programs(vmlinux: Path, counts: Path, tmp_path: Path) -> None:
    words = ["--kernel", vmlinux, "--source", vmlinux.parent, "-o", tmp_path / "pages"]
    words += ["--lcov", tmp_path / "x.info", "--pprof", tmp_path / "x.pb.gz"]
    told = _profile("coverage", counts, *words)
    assert told.returncode == 0, told.stderr
    assert "lines with code ran, in 2 files" in told.stdout
    page = (tmp_path / "pages/files/kernel/main.c.html").read_text()
    assert "return outer(n) / 3;" in page
    assert (tmp_path / "x.info").read_text().count("end_of_record") == 2
    assert b"twice" in gzip.decompress((tmp_path / "x.pb.gz").read_bytes())
    document = json.loads(_profile("coverage", counts, *words, "--json").stdout)
    assert (document["version"], document["files"], document["files_without_text"]) == (1, 2, 0)
    assert document["index"] == str(tmp_path / "pages/index.html")


def test_what_is_refused(vmlinux: Path, counts: Path, tmp_path: Path) -> None:
    def refused(*words: "str | Path") -> str:
        told = _profile("coverage", *words)
        assert (told.returncode, told.stdout, told.stderr.count("\n")) == (2, "", 1)
        return told.stderr

    output = ("-o", tmp_path / "pages")
    assert "nothing to write: give -o FOLDER" in refused(counts)
    assert "no kernel in the cache has the build id" in refused(counts, *output)
    assert "is of no kernel in the cache" in refused(counts, "--kernel", vmlinux, *output)
    foreign = tmp_path / "foreign.counts"
    write_counts(BranchCounts({(0, 1): 1}, {}, "ab" * 20), foreign)
    assert "is of another kernel" in refused(foreign, "--kernel", vmlinux, *output)
    gone = ("--source", tmp_path / "gone")
    assert "is no longer in" in refused(counts, "--kernel", vmlinux, *gone, *output)
    assert not (tmp_path / "pages").exists()


def test_help_has_examples() -> None:
    told = _profile("coverage", "--help")
    assert told.returncode == 0
    assert "kernsmith profile coverage pipe.counts -o coverage" in told.stdout


@pytest.mark.kernel
def test_a_kernel_is_found_by_its_build_id(micro_kernel: Kernel, tmp_path: Path) -> None:
    counts, lcov = tmp_path / "pipe.counts", tmp_path / "pipe.info"
    told = _profile("record", micro_kernel.folder, "--workload", "pipe", "--counts", counts)
    assert told.returncode == 0, told.stderr
    told = _profile("coverage", counts, "-o", tmp_path / "pages", "--lcov", lcov, "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert document["files_without_text"] == 0
    page = (tmp_path / "pages/files/fs/pipe.c.html").read_text()
    assert "anon_pipe_write" in page
    text = lcov.read_text()
    hit = sum(int(line[3:]) for line in text.splitlines() if line.startswith("LH:"))
    assert hit == document["lines_that_ran"] > 1000
    ran = [line for line in text.splitlines() if line.endswith((",anon_pipe_write", ",pipe_write"))]
    entered = [int(line[5:].partition(",")[0]) for line in ran if line.startswith("FNDA:")]
    # The guest's program writes into the pipe in every round.
    assert max(entered) >= 100
