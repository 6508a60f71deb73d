# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers and linkers: found, asked what they can do, and newer ones fetched beside them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.errors import ProgramMissing, UserError
from kernsmith.kernel.private_root import PrivateRoot, add_toolchain, find_private_root
from kernsmith.kernel.toolchain import (
    OLDEST_CLANG,
    Compiler,
    default_compiler,
    find_toolchain,
    installed_compilers,
)
from kernsmith.kernel.toolchain.listing import list_toolchains
from kernsmith.paths import shipped

COMPILERS = installed_compilers()


def test_the_newest_clang_is_the_default() -> None:
    newest = find_toolchain()
    assert newest.compiler.name == default_compiler()
    assert newest.compiler.family == "clang"
    assert newest.own_linker
    clangs = [each for each in COMPILERS if each.family == "clang"]
    assert newest.compiler.version == max(each.version for each in clangs)
    assert [each.name for each in list_toolchains() if each.default] == [default_compiler()]


def test_the_oldest_clang_stands_once() -> None:
    """It is what profiles need; make setup, which comes before Python, has a copy."""
    script = shipped("scripts/setup.sh").read_text()
    assert re.findall(r"CLANG_OLDEST=(\d+)", script) == [str(OLDEST_CLANG)]


def test_clang_brings_all_of_llvm_and_gcc_is_linked_by_lld() -> None:
    clang, gcc = find_toolchain(), find_toolchain("gcc")
    version, name = clang.compiler.version, clang.compiler.name
    assert dict(clang.make_variables) == {"LLVM": f"-{version}", "CC": name}
    assert clang.host_compiler == name
    assert gcc.compiler.family == "gcc"
    assert gcc.linker.family == "lld"
    assert dict(gcc.make_variables) == {"CC": "gcc", "LD": gcc.linker.program}
    assert gcc.linker.orders_functions


def test_a_linker_may_be_named() -> None:
    own = find_toolchain()
    gnu = find_toolchain(own.compiler.name, "bfd")
    assert (gnu.linker.program, gnu.linker.family, gnu.own_linker) == ("ld.bfd", "bfd", False)
    assert not gnu.linker.orders_functions
    assert dict(gnu.make_variables)["LD"] == "ld.bfd"
    # LLVM's tools still come from somewhere: they read GNU ld's files, too.
    assert Path(gnu.tool("llvm-readelf")).name.startswith("llvm-readelf")
    assert find_toolchain(own.compiler.name, f"lld-{own.compiler.version}").own_linker


def test_a_linker_may_come_without_the_other_tools(tmp_path: Path) -> None:
    own = find_toolchain()
    alone = tmp_path / "ld.lld"
    alone.symlink_to(str(shutil.which(own.linker.program)))
    toolchain = find_toolchain(own.compiler.name, str(alone))
    assert toolchain.linker.family == "lld"
    assert shutil.which(toolchain.tool("llvm-readelf"))
    with pytest.raises(UserError, match="llvm-no-such-tool"):
        toolchain.tool("llvm-no-such-tool")


def test_a_path_is_a_compiler_with_what_lies_beside_it() -> None:
    version = find_toolchain().compiler.version
    folder = Path(f"/usr/lib/llvm-{version}/bin")
    if not (folder / "ld.lld").exists():
        pytest.skip(f"LLVM is not in {folder}")
    toolchain = find_toolchain(str(folder / "clang"))
    assert dict(toolchain.make_variables)["LLVM"] == f"{folder}/"
    assert toolchain.linker.program == str(folder / "ld.lld")
    assert Path(toolchain.tool("llvm-nm")).parent == folder


@pytest.mark.parametrize(
    ("compiler", "linker", "error", "told"),
    [
        ("clang-99", "", ProgramMissing, "apt-get install clang-99"),
        ("gcc-99", "", ProgramMissing, "kernsmith toolchain add gcc-99"),
        ("/bin/true", "", UserError, "neither clang nor gcc"),
        ("", "lld-99", ProgramMissing, "apt-get install lld-99"),
        ("", "/bin/true", UserError, "neither lld nor GNU ld"),
        ("", "gold", UserError, "lld-22 and the like, bfd"),
    ],
)
def test_what_is_not_there_is_told(
    compiler: str, linker: str, error: type[UserError], told: str
) -> None:
    with pytest.raises(error, match=told):
        find_toolchain(compiler, linker)


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda each: each.name)
def test_a_compiler_takes_what_is_said_of_it(compiler: Compiler) -> None:
    words = sorted(compiler.words())
    assert "x86-64-v3" in words
    assert "i686" not in words
    for march in (words[0], words[-1], "x86-64-v3"):
        assert not compiler.refuses((f"-march={march}", "-O2"))
    assert "not-a-cpu" in compiler.refuses(("-march=not-a-cpu",))
    toolchain = find_toolchain(compiler.name)
    assert toolchain.lto == (("thin", "full") if compiler.family == "clang" else ())
    if compiler.family == "clang" and compiler.version >= 19:
        assert toolchain.autofdo
        assert "-fbasic-block-address-map" in toolchain.propeller


def test_every_compiler_that_is_listed_can_be_used_and_comes_from_somewhere() -> None:
    listed = list_toolchains()
    assert {each.name for each in COMPILERS} <= {each.name for each in listed}
    for each in listed:
        assert each.toolchain, each.problem
        assert each.origin


@pytest.fixture(scope="module")
def gcc_15() -> PrivateRoot:
    """Made once and kept in the cache, like the source."""
    if find_private_root("gcc-15") is None and shutil.which("mmdebstrap") is None:
        pytest.skip("mmdebstrap is not installed: make setup-test")
    return add_toolchain("gcc-15")


def test_a_newer_gcc_runs_from_a_private_root(gcc_15: PrivateRoot, tmp_path: Path) -> None:
    """With its own cc1, its own assembler, and a CPU that the system's gcc 12 does not know."""
    toolchain = find_toolchain("gcc-15")
    assert (toolchain.compiler.family, toolchain.compiler.version) == ("gcc", 15)
    source = tmp_path / "answer.c"
    source.write_text("int answer(int n) { return n * 42; }\n")
    command = [gcc_15.program, "-march=znver5", "-O2", "-ffunction-sections", "-c", source]
    subprocess.run([*command, "-o", tmp_path / "answer.o"], check=True)
    shown = subprocess.run(
        ["readelf", "-SW", tmp_path / "answer.o"], capture_output=True, text=True, check=True
    ).stdout
    assert ".text.answer" in shown
    tools = subprocess.run(
        [gcc_15.program, "-print-prog-name=as"], capture_output=True, text=True, check=True
    )
    assert Path(tools.stdout.strip()).resolve().is_relative_to(gcc_15.program.parents[2].resolve())


def test_the_command_line_lists_compilers_with_json(gcc_15: PrivateRoot) -> None:
    words = [sys.executable, "-m", "kernsmith", "toolchain", "list", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    listed = {each["name"]: each for each in json.loads(done.stdout)["compilers"]}
    assert "private root: gcc-15" in listed["gcc-15"]["origin"]
    assert "znver5" in listed["gcc-15"]["march"]
    default = listed[default_compiler()]
    assert default["default"]
    assert default["origin"].startswith("Debian package") or default["program"] in default["origin"]


@pytest.mark.parametrize("compiler", ["clang-22", "gcc", "rustc"])
def test_only_numbered_gcc_has_private_roots(compiler: str) -> None:
    with pytest.raises(UserError, match="no private root for"):
        add_toolchain(compiler)


def test_folders_of_path_that_may_not_be_read_are_passed_over(tmp_path: Path) -> None:
    """As shells do. By a user who is not root, as a process without its capabilities is."""
    closed, inner, file = tmp_path / "closed", tmp_path / "closed/inner", tmp_path / "file"
    inner.mkdir(parents=True)
    file.write_text("no folder")
    closed.chmod(0o000)
    script = (
        "from kernsmith.doctor import checks\n"
        "from kernsmith.kernel.toolchain import default_compiler\n"
        "print(default_compiler(), checks._on_path('clang-[0-9]+')[0].name[:5])"
    )
    as_user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    path = f"{closed}:{inner}:{file}:{tmp_path}/nowhere:{os.environ['PATH']}"
    words = [*as_user, sys.executable, "-c", script]
    said = subprocess.run(
        words, env=os.environ | {"PATH": path}, check=True, capture_output=True, text=True
    ).stdout
    closed.chmod(0o755)
    assert said.split() == [default_compiler(), "clang"]
