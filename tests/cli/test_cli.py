# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: bad input is one sentence on stderr and exit code 2, help has examples."""

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from kernsmith.cli import main
from kernsmith.errors import UserError

AUTOFDO, THINLTO = (
    ["optimize", "--source", "debian:7.3", "--with", step] for step in ("autofdo", "thinlto")
)
BLAME = ["blame", "--source", "debian:7.3", "--good", "default", "--bad", "optimisation=O3"]
TWO = ["--source", "debian:7.3", "default", "CONFIG_HZ=1000"]
UNTIL = ("nan", "-1", "100", "1e9")


def kernsmith(*words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["optimize", "--source", "debian:99.9"], "99.9"),
        (["optimize", "--source", "/nowhere"], "/nowhere"),
        (["optimize", "--source", "debian:7.3", "--config", "labb"], "allowed are disk, lab, "),
        (["optimize", "--source", "debian:7.3", "--config", sys.executable], "is no text in UTF-8"),
        (["optimize", "--source", "debian:7.3", "--workload", "pip"], "pipe"),
        (["optimize", "--source", "debian:7.3", "--cpu", "skylark"], "skylake"),
        (["optimize", "--source", "debian:7.3", "--machine", "cloud"], "tcg"),
        (["optimize", "--source", "debian:7.3", "--compiler", "clang-99"], "clang-99"),
        ([*AUTOFDO, "--compiler", "gcc"], "needs clang"),
        (["optimize", "--source", "debian:7.3", "--layouts", "-1"], "--layouts"),
        *(
            (["optimize", "--source", "/nowhere", "--until", x], "per cent from 0 to 100")
            for x in UNTIL
        ),
        (["optimize", "--source", "/nowhere", "--seed", f"1{'0' * 23}"], "design.seed (--seed)"),
        (["optimize", "--source", "/nowhere", "--profile", "x"], "cannot read the profile "),
        (["optimize", "--source", "/nowhere", "--root", "x"], "workloads.root: there is no "),
        (["optimize", "--source", "debian:7.3", "--ledger", "nonsense"], "ledger"),
        (["optimize", "--source", "debian:7.3", "--with", "blot"], "allowed are best, autofdo, b"),
        (["optimize", "--source", "debian:7.3", "--with", "bolt"], 'allowed is "boot"'),
        (["optimize", "--source", "debian:7.3", "--with", "autofdo,"], "no step ''"),
        ([*THINLTO, "--profile", "x"], "no variant has a step that reads one"),
        (["compare", "default", "CONFIG_HZ=1000"], "--source"),
        (["compare", "--source", "debian:7.3", "default", "default"], "label=a"),
        (["compare", "--source", "debian:7.3", "v1", "v2"], "--source FOLDER"),
        (["compare", "--source", "debian:7.3", "default", "marhc=x"], "march"),
        (["compare", "--source", "/nowhere", "default", "CONFIG_HZ=1000"], "/nowhere"),
        (["compare", *TWO, "--layouts", "8", "--until", "1%"], "such as 8..64, and not '8'"),
        (["compare", *TWO, "--metric", "speed"], "kernel_instructions"),
        (["compare", *TWO, "--fail-above", "-1"], "--fail-above"),
        (["bisect", "--good", "v1", "--bad", "v2", "--source", "/nowhere"], "/nowhere"),
        (["bisect", "--good", "v1", "--bad", "v2"], "not a git repository"),
        (["bisect", "--good", "v1", "--bad", "v2", "--threshold", "x"], "--threshold"),
        (["blame", "--good", "default", "--bad", "default"], "--good and --bad are both"),
        (["blame", "--good", "default", "--bad", "optimisation=O3"], "which source?"),
        (
            ["blame", "--good", "1f0c2a", "--bad", "default"],
            "'1f0c2a' is no built kernel: give its ",
        ),
        ([*BLAME[:-1], "marhc=x"], "unknown factor 'marhc'"),
        ([*BLAME, "--machine", "uml"], "runs programs: allowed are kvm, ssh:HOST, tcg"),
        ([*BLAME, "--metric", "model_cycles", "--layouts", "1"], "2 layouts or more, or a range"),
        (
            [*BLAME, "--test", "./nowhere"],
            "--test takes boot, kunit, selftests, workloads,",
        ),
        ([*BLAME, "--test", "it's"], "is no command: no closing quotation"),
        ([*BLAME, "--test", "true", "--metric", "model_cycles"], "--test names these, and no c"),
        ([*BLAME, "--test", "pipe", "--metric", "speed"], "kernel_instructions"),
        ([*BLAME, "--repeat", "0"], "--repeat"),
        (["delegate", "cc", "gcc", "--print"], "give --study, --step or --by"),
        (["delegate", "cc", "gcc", "--by", "tcc"], "--by takes PATTERN:COMPILER"),
        (["delegate", "ld", "ld.bfd", "--print"], "give --study, --others, --step, --order or"),
        (["delegate", "report", "nowhere"], "nowhere"),
        (["delegate", "report", "no.rules"], "there is no file of rules no.rules"),
        (["delegate", "cc", "gcc", "--print", "--step", "x.o"], "--step takes PATTERN:STEP"),
        (["delegate", "cc", "gcc", "--print", "--step", "x.o:nop"], "'nop' is no shipped step"),
        (["delegate", "cc", "gcc", "--print", "--step", "x.o:./no"], "is no program that can be"),
        (["toolchain", "add", "clang-22"], "no private root for 'clang-22'"),
        (["kernels", "--ledger", "sqlite:///nowhere.sqlite"], "there is no ledger nowhere.sqlite"),
        (["optimize", "--source", "debian:7.3", "--suffix", "Web"], "--suffix 'Web': allowed are"),
        (["optimize", "--source", "debian:7.3", "--suffix", "a-dbg"], "information end with -dbg"),
        (["optimize", "--source", "debian:7.3", "--config", "debian:"], "write it as debian:FLAV"),
        (["export", "1395ba40"], "--flags"),
        (["prove", "hello_1_amd64.deb"], "is no package of a kernel that kernsmith made"),
        (["prove", "x.deb", "--workload", "lmbench-syscall"], "cannot run on the disk"),
        (["run", "nowhere.toml"], "nowhere.toml"),
        (["run", "/"], "cannot read the study /: Is a directory"),
        (["plan", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], told: str, tmp_path: Path) -> None:
    done = kernsmith(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    sentence = [line for line in done.stderr.splitlines() if line.startswith("kernsmith: ")]
    assert len(sentence) == 1
    assert not list(tmp_path.iterdir()), "nothing was started, nothing is left behind"


def test_debug_shows_where_it_came_from(tmp_path: Path) -> None:
    done = kernsmith("run", "nowhere.toml", "--debug", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "optimize", "compare", "bisect", "blame", "run", "plan", "analyze", "report", "kernels",
        "package", "prove", "export", "doctor", "delegate cc", "layout sample", "layout evaluate",
        "layout optimize",
        "layout collisions", "layout apply",
        "ledger runs", "ledger void", "toolchain list", "toolchain add", "cpu list", "cpu detect",
        "cpu patch", "cpu models",
    ],
)  # fmt: skip
def test_every_command_has_help(command: str) -> None:
    done = kernsmith(*command.split(), "--help")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 5


def test_what_an_error_left_behind_is_told_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = UserError("the study is wrong")
    error.add_note("lab could not be put in order")

    def app(words: list[str]) -> NoReturn:
        raise error

    monkeypatch.setattr("kernsmith.cli._app", app)
    with pytest.raises(SystemExit) as ended:
        main(["run"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "kernsmith: the study is wrong\nkernsmith: lab could not be put in order\n"
    )
