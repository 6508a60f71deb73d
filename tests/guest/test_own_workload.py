# SPDX-License-Identifier: GPL-2.0-or-later
"""Users' own workloads: what a file may say, and what runs in the guest."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.cli import main
from kernsmith.errors import UserError
from kernsmith.guest.beside import MOST_BYTES
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.metrics import check_own_metrics
from kernsmith.machine.tcg import open_machine
from kernsmith.paths import shipped
from kernsmith.study.file import read_study

PROGRAM = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    int main(int count, char **words)
    {
        char line[64] = "";
        FILE *file = fopen(words[1], "r");
        if (!file || !fgets(line, sizeof(line), file))
            return 3;
        if (strcmp(line, "die") == 0)
            abort();
        const char *metrics = getenv("KERNSMITH_METRICS");
        FILE *own = metrics ? fopen(metrics, "a") : NULL;
        if (own && words[2])
            fputs(words[2], own);
        printf("it says %s", line);
        return 0;
    }
"""
TABLE = """\
name = "reader"
program = "bin/reader"
arguments = ["data/line"]
files = ["data"]
rounds = 4
operations = 3
unit = "line"
needs = ["CONFIG_TMPFS"]

[check]
output = "expected"
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "reader.c").write_text(PROGRAM)
    for name, *flags in (("static", "-static"), ("shared",)):
        command = ["gcc", "-O1", *flags, "-o", str(folder / name), str(folder / "reader.c")]
        subprocess.run(command, check=True)
    return folder


@pytest.fixture
def file(programs: Path, tmp_path: Path) -> Path:
    """A workload that does what it must."""
    folder = tmp_path / "reader"
    (folder / "bin").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "bin/reader").write_bytes((programs / "static").read_bytes())
    (folder / "data/line").write_text("so\n")
    (folder / "expected").write_text("it says so\n")
    path = folder / "reader.toml"
    path.write_text(TABLE)
    return path


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        read_own_workload(path)
    told = str(error.value)
    assert "\n" not in told and str(path) in told
    return told


def test_equal_content_is_the_same_workload_wherever_it_lies(file: Path, tmp_path: Path) -> None:
    first = read_own_workload(file)
    assert (first.name, first.rounds, first.warmup) == ("reader", 4, 1)
    assert first.needs == ("CONFIG_TMPFS",)
    os.utime(file.parent / "data/line", (1, 1))
    moved = file.parent.rename(tmp_path / "elsewhere")
    assert read_own_workload(moved / "reader.toml").content == first.content
    (moved / "data/line").write_text("other\n")
    other = read_own_workload(moved / "reader.toml")
    assert other.content != first.content
    assert other.amount != first.amount


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "reader"', "name = reader", "is not TOML"),
        ('name = "reader"', 'name = "A B"', "name: a name is small letters"),
        ('name = "reader"', "", "name: Field required"),
        ("rounds = 4", "rounds = 0", "rounds: Input should be greater"),
        ("rounds = 4", "memory = 100", "memory: a guest has 256 MiB of memory or more"),
        ("rounds = 4", "turns = 4", "turns: there is no such key: allowed are name"),
        ('["CONFIG_TMPFS"]', '["TMPFS"]', "needs: 'TMPFS' is no config symbol"),
        ('"bin/reader"', '"bin/writer"', "program: there is no 'bin/writer' beside the file"),
        ('"bin/reader"', '"/bin/true"', "program: '/bin/true' is not below the folder"),
        ('"bin/reader"', '"../x"', "program: '../x' is not below the folder"),
        ('"bin/reader"', '"data/line"', "is no program for x86-64"),
        ('files = ["data"]', 'files = ["."]', "files.0: '.' is not below the folder"),
        ('"expected"', '"../expected"', "check.output: '../expected' is not below"),
        ('"expected"', '"data"', "check.output: 'data' cannot be read: Is a directory"),
        ('"bin/reader"', '"bin/../bin/reader"', "is not below the folder"),
        ('"bin/reader"', r'"a\u0000b"', "program: it has letters that cannot be printed"),
        ('files = ["data"]', r'files = ["a\u0000b"]', "files.0: 'a\\x00b' is no path to a file"),
        ("rounds = 4", r'description = "\u001b[2J"', "description: it has letters that cannot be"),
        ("[check]", '[metrics]\nP99 = "us"\n[check]', "metrics: 'P99' is no name: small letters"),
        ("[check]", '[metrics]\np99 = "\\u001b"\n[check]', "metrics.p99.unit: String should match"),
        ("[check]", "[metrics]\np99 = 3\n[check]", "metrics.p99: "),
        (
            "[check]",
            '[metrics]\np99 = { better = "higher" }\n[check]',
            "metrics.p99.unit: Field requ",
        ),
        (
            "[check]",
            '[metrics]\np99 = { unit = "us", better = "more" }\n[check]',
            "metrics.p99.better: ",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(file: Path, old: str, new: str, told: str) -> None:
    assert old in TABLE
    file.write_text(TABLE.replace(old, new))
    assert told in refused(file)


def test_nothing_outside_of_the_folder_is_read(file: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (file.parent / "data/link").symlink_to(tmp_path / "secret")
    assert "is not below the folder" in refused(file)


def test_what_links_lead_to_beside_the_file_the_guest_has_by_both_names(file: Path) -> None:
    folder = file.parent
    (folder / "data/v2").mkdir()
    (folder / "data/v2/words").write_text("of two\n")
    (folder / "data/current").symlink_to("v2")
    (folder / "alias").symlink_to("data")
    (folder / "linked").symlink_to("bin/reader")
    text = TABLE.replace('"bin/reader"', '"linked"').replace('["data"]', '["alias", "data"]')
    file.write_text(text)
    work = read_own_workload(file)
    assert work.initramfs
    rest = subprocess.run(
        ["cpio", "--list", "--quiet"], input=work.initramfs.read_bytes(), check=True,
        capture_output=True,
    ).stdout.decode().split()  # fmt: skip
    assert {"workload/linked", "workload/alias/line", "workload/data/current/words"} <= set(rest)
    (folder / "data/v2/up").symlink_to("..")
    assert "'alias/current/up' is a link to a folder that it lies in" in refused(file)


def test_what_is_no_file_or_too_much_is_not_read(file: Path) -> None:
    folder = file.parent
    os.mkfifo(folder / "data/pipe")
    assert "files.0: 'data/pipe' is neither a file nor a folder" in refused(file)
    (folder / "data/pipe").unlink()
    (folder / "data/loop").symlink_to("loop")
    assert "'data/loop' is no path to a file" in refused(file)
    (folder / "data/loop").unlink()
    for name in ("data/line", "expected", "bin/reader"):
        content = (folder / name).read_bytes()
        os.truncate(folder / name, MOST_BYTES + 1)
        assert "more than 256 MiB" in refused(file)
        (folder / name).write_bytes(content)
    assert read_own_workload(file).content


def test_names_may_be_any_bytes(file: Path) -> None:
    named = os.fsdecode(b"\xff\n[x]")
    (file.parent / "data" / named).write_text("x")
    work = read_own_workload(file)
    assert work.initramfs and b"workload/data/\xff\n[x]\0" in work.initramfs.read_bytes()


def test_descriptions_are_listed_as_they_are(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = 'description = "Reads [/etc/passwd] [bold]\\nso"'
    file.write_text(TABLE.replace("rounds = 4", words))
    with pytest.raises(SystemExit, match="0"):
        main(["workload", "list", str(file)])
    assert "Reads [/etc/passwd] [bold] so" in capsys.readouterr().out


def test_programs_that_need_libraries_are_refused(file: Path, programs: Path) -> None:
    (file.parent / "bin/reader").write_bytes((programs / "shared").read_bytes())
    assert "link it with -static" in refused(file)
    content = (programs / "static").read_bytes()
    for size in (0, 5, 20, 63, 100):
        (file.parent / "bin/reader").write_bytes(content[:size])
        assert "is no program for x86-64" in refused(file)
    beyond = content[:32] + b"\xff" * 8 + content[40:]  # where its headers should be
    for bad in (b"\xff" * 4000, beyond):
        (file.parent / "bin/reader").write_bytes(bad)
        assert "is no program for x86-64" in refused(file)


def test_a_name_that_is_taken_and_a_file_that_is_not_there(file: Path, tmp_path: Path) -> None:
    file.write_text(TABLE.replace('"reader"', '"pipe"', 1))
    with pytest.raises(UserError, match="'pipe' is a workload or a set already"):
        load_catalogue().including([str(file)])
    with pytest.raises(UserError, match="cannot read the workload"):
        load_catalogue().including([str(tmp_path / "nothing.toml")])


def test_a_study_names_it_from_its_own_folder(file: Path) -> None:
    text = (shipped("studies") / "aa.toml").read_text()
    study = file.parent / "study.toml"
    study.write_text(text.replace('use = ["lab"]', 'use = ["reader.toml", "pipe"]'))
    words = read_study(study).workloads
    assert words == (str(file), "pipe")
    chosen = load_catalogue().including(words).select(words)
    assert [each.name for each in chosen] == ["pipe", "reader"]


def ran(file: Path, kernel: Kernel, folder: Path) -> Outcome:
    machine = open_machine("skylake")
    return run_once(machine, kernel.vmlinux, Job(read_own_workload(file), folder))


@pytest.mark.kernel
def test_it_runs_in_the_guest_and_counts_the_same_twice(
    file: Path, micro_kernel: Kernel, tmp_path: Path
) -> None:
    first, again = (ran(file, micro_kernel, tmp_path / name) for name in ("first", "again"))
    assert first.ok, first.reason
    assert first.metrics == again.metrics
    once = replace(read_own_workload(file), rounds=1)
    machine = open_machine("skylake")
    outcome = run_once(machine, micro_kernel.vmlinux, Job(once, tmp_path / "once"))
    ratio = first.metrics["user_instructions"][0] / outcome.metrics["user_instructions"][0]
    assert 3.5 < ratio < 4.5
    faults, of_one = (each.metrics["minor_faults"] for each in (first, outcome))
    assert faults[0] == 4 * of_one[0] > 0 and faults[1] == "faults"
    assert first.metrics["max_rss"] == outcome.metrics["max_rss"]
    switches = [each.metrics["voluntary_switches"][0] for each in (first, outcome)]
    assert switches[0] == 4 * switches[1]  # the runner waits for each round's program
    assert first.metrics["blocks_read"][0] == 0


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("expected", "it says no\n", "the program printed something else than expected"),
        ("expected", "it says so\nand more\n", "the program printed something else than expected"),
        ("data/line", "die", "the program was killed by signal 6"),
        ("data/line", "", "the program ended with status 3, not 0"),
    ],
)
def test_what_did_not_do_its_work_has_no_figures(
    file: Path, micro_kernel: Kernel, tmp_path: Path, name: str, content: str, told: str
) -> None:
    (file.parent / name).write_text(content)
    outcome = ran(file, micro_kernel, tmp_path / "run")
    assert not outcome.ok and not outcome.metrics
    assert told in outcome.reason


METRICS = '[metrics]\nlatency = "us"\nsize = ""\n\n[check]'


@pytest.mark.kernel
def test_it_tells_figures_of_its_own(file: Path, micro_kernel: Kernel, tmp_path: Path) -> None:
    """Each round writes two latencies; the figure is their mean."""
    words = '"data/line", "latency=2.5\\nlatency=3\\nsize=1e3\\n"'
    file.write_text(TABLE.replace('"data/line"', words).replace("[check]", METRICS))
    outcome = ran(file, micro_kernel, tmp_path / "run")
    assert outcome.ok, outcome.reason
    assert outcome.metrics["latency"] == (2.75, "us")
    assert outcome.metrics["size"] == (1000.0, "")
    assert outcome.metrics["kernel_instructions"][1] == "instructions"


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("latency=2\\n", "the program wrote nothing of its own metric size"),
        ("latency=fast\\n", "the program wrote no number from 0 on of its own metric latency"),
        ("latency=inf\\n", "the program wrote no number from 0 on of its own metric latency"),
        ("latency=-1\\n", "the program wrote no number from 0 on of its own metric latency"),
        ("latency\\n", "the program's own metrics have no line latency"),
        ("speed=2\\n", "the workload's file has no metric speed"),
    ],
)
def test_figures_that_are_none_are_told(
    file: Path, micro_kernel: Kernel, tmp_path: Path, written: str, told: str
) -> None:
    words = f'"data/line", "{written}"'
    file.write_text(TABLE.replace('"data/line"', words).replace("[check]", METRICS))
    outcome = ran(file, micro_kernel, tmp_path / "run")
    assert not outcome.ok and not outcome.metrics
    assert told in outcome.reason


def test_its_figures_have_no_names_of_the_machines(file: Path) -> None:
    file.write_text(TABLE.replace("[check]", '[metrics]\nvirtual_seconds = "s"\n\n[check]'))
    with pytest.raises(UserError, match="'virtual_seconds' is what machines measure"):
        check_own_metrics(read_own_workload(file))


@pytest.mark.kernel
def test_the_commands_show_check_and_run_it(file: Path, micro_kernel: Kernel) -> None:
    def call(*words: str, expect: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "kernsmith", "workload", *words],
            cwd=file.parent, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == expect, done.stderr
        return done

    kernel = ("--kernel", str(micro_kernel.vmlinux))
    assert json.loads(call("show", "reader.toml", "--json").stdout)["rounds"] == 4
    assert "reader did its work" in call("check", "reader.toml", *kernel).stdout
    words = ("run", "reader.toml", "--rounds", "2", *kernel)
    document = json.loads(call(*words, "--hottest", "3", "--json").stdout)
    assert document["metrics"]["kernel_instructions"]["value"] > 10_000
    first, *others = (each["share"] for each in document["hottest"])
    assert 0 < first < 1 and others == sorted(others, reverse=True) and len(others) == 2
    assert "per line" in call(*words).stdout
    assert "name one of them" in call("show", "lab", expect=2).stderr
    file.write_text(TABLE.replace('["CONFIG_TMPFS"]', '["CONFIG_NO_SUCH"]'))
    told = call("check", "reader.toml", *kernel, expect=2).stderr
    assert "lacks what reader needs: CONFIG_NO_SUCH" in told
