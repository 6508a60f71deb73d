# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu`: tables, JSON, patches, and one sentence for what cannot be done."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.kernel.cpu.patch import KCONFIG, MAKEFILE
from kernsmith.kernel.toolchain import installed_compilers


def _cpu(*words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", "cpu", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As much of a kernel as the patch looks at."""
    tree = tmp_path / "linux"
    (tree / "arch/x86").mkdir(parents=True)
    (tree / "init").mkdir()
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\n")
    (tree / "Kconfig").write_text("")
    (tree / "init/Kconfig").write_text("")
    (tree / KCONFIG).write_text('config X86_GENERIC\n\tbool "Generic x86 support"\n')
    (tree / MAKEFILE).write_text("\tBITS := 64\n\n\tKBUILD_CFLAGS += -mno-red-zone\n")
    return tree


def test_list_shows_every_processor_with_its_compilers() -> None:
    told = _cpu("list").stdout.splitlines()
    zen4 = next(line.split() for line in told if line.startswith("znver4 "))
    assert zen4[1:9] == ["Zen", "4", "19h", "v4", "13.1", "(11.5,", "12.3)", "16.0"]
    phi = next(line for line in told if line.startswith("knl "))
    assert "9.1 to before 15.1" in phi


def test_list_as_json() -> None:
    document = json.loads(_cpu("list", "--json").stdout)
    assert document["version"] == 1
    found = {target["march"]: target for target in document["targets"]}
    assert len(found) > 70
    assert found["tigerlake"]["gcc"] == ["10.1"]
    assert found["x86-64-v3"]["adds"].startswith("AVX, AVX2")
    assert found["penryn"]["gcc"] == []


def test_list_of_a_compiler_has_only_what_it_takes() -> None:
    compiler = next(each for each in installed_compilers() if each.family == "gcc")
    document = json.loads(_cpu("list", "--compiler", compiler.name, "--json").stdout)
    assert {target["march"] for target in document["targets"]} <= compiler.words()
    assert "penryn" not in {target["march"] for target in document["targets"]}


def test_detect_tells_of_every_compiler() -> None:
    document = json.loads(_cpu("detect", "--json").stdout)
    assert 1 <= document["level"] <= 4
    programs = [each.name for each in installed_compilers()]
    assert [each["program"] for each in document["compilers"]] == programs
    told = _cpu("detect").stdout
    assert document["name"] in told
    assert all(program in told for program in programs)


def test_patch_to_a_file_and_to_standard_output_are_the_same(tree: Path, tmp_path: Path) -> None:
    printed = _cpu("patch", str(tree))
    written = _cpu("patch", str(tree), "-o", "cpu.patch", cwd=tmp_path)
    assert printed.returncode == written.returncode == 0
    assert (tmp_path / "cpu.patch").read_text() == printed.stdout
    assert written.stdout == ""
    assert "choices for Linux 7.3; apply it" in written.stderr
    document = json.loads(_cpu("patch", str(tree), "--json").stdout)
    assert document["patch"] == printed.stdout
    assert {"symbol", "march", "title", "depends"} == document["options"][0].keys()


def test_a_patched_tree_is_told_so(tree: Path) -> None:
    patch = _cpu("patch", str(tree)).stdout
    subprocess.run(["patch", "-p1", "--silent"], cwd=tree, input=patch, text=True, check=True)
    again = _cpu("patch", str(tree))
    assert again.returncode == 0
    assert again.stdout == ""
    assert "has these choices already: nothing to patch" in again.stderr
    assert json.loads(_cpu("patch", str(tree), "--json").stdout)["patched"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["patch", "/nowhere"], "/nowhere"),
        (["patch", "debian:99.9"], "99.9"),
        (["patch", "/etc"], "is not a kernel source"),
        (["list", "--compiler", "gcc-99"], "gcc-99 is not installed here"),
        (["list", "--compiler", "true"], "true is neither clang nor gcc"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], told: str, tmp_path: Path) -> None:
    done = _cpu(*words, cwd=tmp_path)
    assert done.returncode == 2
    sentence = [line for line in done.stderr.splitlines() if line.startswith("kernsmith: ")]
    assert len(sentence) == 1
    assert told in sentence[0]
    assert not list(tmp_path.iterdir())


def test_an_output_that_cannot_be_written(tree: Path, tmp_path: Path) -> None:
    """Nobody, not even root, can write below a file."""
    output = tmp_path / "file" / "cpu.patch"
    output.parent.write_text("")
    done = _cpu("patch", str(tree), "-o", str(output))
    assert done.returncode == 2
    assert f"{output} cannot be written" in done.stderr


@pytest.mark.parametrize("command", ["list", "detect", "patch"])
def test_help_has_examples(command: str) -> None:
    told = _cpu(command, "--help").stdout
    assert f"kernsmith cpu {command}" in told.split("For example:")[1]


def test_models_say_which_were_held_against_a_processor() -> None:
    told = _cpu("models").stdout.splitlines()
    line = {text.split()[0]: text for text in told if text.strip()}
    assert "in time" in line["skylake"] and "never held against one" in line["skylake"]
    assert not any("a sum of penalties" in text for text in told)
    assert "ratios off by 0.9 points, 2.7 at worst" in line["emeraldrapids"]
    assert "in time, core" in line["emeraldrapids"] and "core" not in line["zen5"]
    document = json.loads(_cpu("models", "--json").stdout)
    found = {model["name"]: model for model in document["models"]}
    assert document["version"] == 1
    assert found["neoverse-n1"]["held"] is None and found["neoverse-n1"]["in_time"]
    assert found["emeraldrapids"]["held"]["programs"] == 7
