# SPDX-License-Identifier: GPL-2.0-or-later
"""Linker scripts of older trees, patched: by real trees, the real preprocessor and linker."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.kernel.script_patch import ScriptPatch, place_patched, script_patch
from kernsmith.kernel.sections import SCRIPT, gathers_functions
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import find_toolchain
from older_sources import OLDER, older_source

# Sections as clang names them with -ffunction-sections and a profile.
CODE = """\
.section {name}, "ax", @progbits
.globl {symbol}
{symbol}: ret
"""
NAMES = {
    "plain": ".text.plain",
    "all": ".text",
    "cold": ".text.unlikely.cold",
    "unknown": ".text.unknown.unknown",
    "hot": ".text.hot.hot",
    "split": ".text.split.split",
    "startup": ".text.startup_of_it",
}


@pytest.fixture(params=OLDER)
def older(request: pytest.FixtureRequest) -> Source:
    return older_source(request.param)


def patched(source: Source) -> ScriptPatch:
    patch = script_patch(source.path, {})
    assert patch is not None
    return patch


def test_a_tree_that_gathers_functions_needs_no_patch(source: Source) -> None:
    assert script_patch(source.path, {}) is None


def test_the_patch_says_what_is_changed_and_can_be_applied(older: Source, tmp_path: Path) -> None:
    patch = patched(older)
    assert "+#define TEXT_MAIN .text .text.[0-9a-zA-Z_]*" in patch.diff
    (tmp_path / SCRIPT).parent.mkdir(parents=True)
    shutil.copy(older.path / SCRIPT, tmp_path / SCRIPT)
    command = ["git", "apply", "-"]
    subprocess.run(command, cwd=tmp_path, input=patch.diff, text=True, check=True)
    assert (tmp_path / SCRIPT).read_text() == patch.text


def test_a_kernel_with_lto_keeps_its_own_sections_and_gets_their_order(older: Source) -> None:
    lto = {"LTO_CLANG_THIN": "y"}
    assert gathers_functions(older.path, lto)
    patch = script_patch(older.path, lto)
    assert patch is not None
    assert "define TEXT_MAIN" not in patch.diff
    assert "*(.text.split" in patch.diff


def test_kbuild_finds_the_patched_header_before_the_trees(older: Source, tmp_path: Path) -> None:
    """With the folders that the top Makefile names, in its order."""
    arch = find_arch()
    place_patched(patched(older), tmp_path, arch)
    makefile = (older.path / "Makefile").read_text()
    begin = makefile.index("\nLINUXINCLUDE ")
    named = makefile[begin : makefile.index("\n\n", begin)]
    places = [
        named.index("arch/$(SRCARCH)/include/generated"),
        named.index("-I$(srctree)/include"),
    ]
    assert places == sorted(places)
    generated = tmp_path / "arch" / arch.srctree / "include/generated"
    assert (generated / "asm-generic/vmlinux.lds.h").read_text() == patched(older).text
    assert text_of(older, generated) != text_of(older)


def test_every_function_lies_in_the_text_the_cold_ones_first(older: Source, tmp_path: Path) -> None:
    place_patched(patched(older), tmp_path, find_arch())
    generated = tmp_path / "arch" / find_arch().srctree / "include/generated"
    script = f"SECTIONS {{ .text : {{ begin = .; {text_of(older, generated)} end = .; }} }}"
    (tmp_path / "script").write_text(script)
    parts = [CODE.format(name=name, symbol=symbol) for symbol, name in NAMES.items()]
    (tmp_path / "code.S").write_text("".join(parts))
    toolchain = find_toolchain()
    code, image = tmp_path / "code.o", tmp_path / "image"
    process.run([toolchain.compiler.program, "-c", "-o", code, tmp_path / "code.S"], timeout=60)
    link = [toolchain.linker.program, "--script", tmp_path / "script"]
    process.run([*link, "--discard-none", "-o", image, code], timeout=60)
    told = process.run([toolchain.tool("llvm-nm"), image], timeout=60).output.splitlines()
    address = {name: int(value, 16) for value, _, name in map(str.split, told)}
    assert all(address["begin"] <= address[name] < address["end"] for name in NAMES)
    in_order = sorted(NAMES, key=lambda name: address[name])
    assert in_order[:4] == ["split", "cold", "unknown", "hot"]


def text_of(source: Source, *before: Path) -> str:
    """`TEXT_TEXT` as the preprocessor has it. before: folders that it looks into first."""
    folders = [*before, source.path / "arch/x86/include", source.path / "include"]
    ask = "#include <asm-generic/vmlinux.lds.h>\nTEXT_TEXT\n"
    compiler = find_toolchain().compiler.program
    words = [compiler, "-E", "-P", "-undef", "-nostdinc", *(f"-I{folder}" for folder in folders)]
    defined = ["-DCONFIG_FUNCTION_ALIGNMENT=16", "-D__ASSEMBLY__", "-x", "assembler-with-cpp", "-"]
    return subprocess.run(
        [*map(str, words), *defined], input=ask, capture_output=True, text=True, check=True
    ).stdout
