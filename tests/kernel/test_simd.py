# SPDX-License-Identifier: GPL-2.0-or-later
"""No compiler uses vector or floating-point registers of its own accord, whatever the processor."""

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernels import ALL, kept_kernel
from kernsmith import paths, process
from kernsmith.arch import find_arch
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.build import BuildFailed, build_kernel
from kernsmith.kernel.config import render_config
from kernsmith.kernel.cpu.catalogue import read_catalogue
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.simd import (
    VECTORS,
    allowing_flags,
    beyond_places,
    kernel_places,
    simd_functions,
    unasked,
)
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import Compiler, find_toolchain, installed_compilers
from kernsmith.study import Variant

# The guard of arch/x86/Makefile and Makefile; the last one only where the compiler takes it.
GUARD = (
    "-mno-sse", "-mno-mmx", "-mno-sse2", "-mno-3dnow", "-mno-avx", "-mno-80387",
    "-ffreestanding", "-fno-builtin",
)  # fmt: skip
GUARD_IF_KNOWN = "-mno-fp-ret-in-387"
COMPILERS = installed_compilers()
each_compiler = pytest.mark.parametrize("compiler", COMPILERS, ids=lambda each: each.name)


@pytest.fixture(scope="module")
def objdump() -> str:
    newest = max((c for c in COMPILERS if c.family == "clang"), key=lambda c: c.release)
    return find_toolchain(newest.name).tool("llvm-objdump")


@pytest.fixture(scope="module")
def places(source: Source) -> dict[str, str]:
    return kernel_places(source.path)


@cache
def _guard(compiler: Compiler) -> tuple[str, ...]:
    asked = [compiler.program, "-Werror", GUARD_IF_KNOWN, "-fsyntax-only", "-x", "c", "-"]
    known = process.run(asked, timeout=60, input="", check=False).returncode == 0
    return (*GUARD, GUARD_IF_KNOWN) if known else GUARD


def _compile(compiler: Compiler, folder: Path, march: str, *flags: str) -> Path:
    built = folder / f"{march}.o"
    command = [compiler.program, "-O3", f"-march={march}", *flags, "-c", "-x", "c", "-o", built]
    process.run([*command, "-"], timeout=60, input=VECTORS)
    return built


@each_compiler
def test_without_the_guard_vectors_are_found(
    compiler: Compiler, objdump: str, tmp_path: Path
) -> None:
    found = simd_functions(_compile(compiler, tmp_path, "x86-64-v3"), objdump)
    assert found.keys() == {"copy", "clear", "add"}
    assert beyond_places(found, {"copy": "lib/a.S"}) == {"clear", "add"}


def test_data_that_is_marked_as_code_is_none(objdump: str, tmp_path: Path) -> None:
    """As all of .data is in kernels by gcc, once a file marks its part of it so."""
    built = tmp_path / "marked.o"
    code = "\tmovaps %xmm0, %xmm1\n"
    text = f'\t.section .data, "awx"\nlabel:\n{code}\t.text\nmoved:\n{code}'
    process.run(["gcc", "-c", "-x", "assembler", "-o", built, "-"], timeout=60, input=text)
    assert simd_functions(built, objdump) == {"moved": 1}


@each_compiler
def test_the_guard_holds_for_every_processor(
    compiler: Compiler, objdump: str, tmp_path: Path
) -> None:
    words = {target.march for target in read_catalogue().targets()} & compiler.words()
    assert len(words) > 40
    built = [_compile(compiler, tmp_path, march, *_guard(compiler)) for march in sorted(words)]
    process.run(["ar", "rc", tmp_path / "all.a", *built], timeout=60)
    assert simd_functions(tmp_path / "all.a", objdump) == {}


@each_compiler
def test_the_guard_leaves_nothing_of_level_4(compiler: Compiler, tmp_path: Path) -> None:
    """Why a kernel for x86-64-v4 is one for v3 that runs on fewer machines."""
    objects = [
        _compile(compiler, tmp_path, f"x86-64-v{level}", *_guard(compiler)) for level in (3, 4)
    ]
    assert objects[0].read_bytes() == objects[1].read_bytes()


@each_compiler
def test_the_flags_that_take_the_guard_back_are_named(compiler: Compiler, objdump: str) -> None:
    flags = ("-O3", "-mavx2", "-march=x86-64-v4", "-fno-inline")
    assert allowing_flags(compiler.program, flags, objdump) == ("-mavx2",)
    assert allowing_flags(compiler.program, flags[:1] + flags[2:], objdump) == ()


TEMPLATE = """\
.macro _copy_wide
	vmovdqu (%rsi), %ymm0
	vmovdqu %ymm0, (%rdi)
	ret
.endm
#define DEFINE_FUNCS(prefix)			\\
.globl prefix##_avx2; .type prefix##_avx2, @function;	\\
prefix##_avx2: _copy_wide; .size prefix##_avx2, . - prefix##_avx2
"""


@each_compiler
def test_functions_of_assembly_whose_names_macros_make_are_asked_for(
    compiler: Compiler, objdump: str, tmp_path: Path
) -> None:
    """As lib/crc/x86 has them in Linux 7.3: no file has their names, its own no register."""
    tree, output = tmp_path / "tree", tmp_path / "out"
    output.mkdir()
    (tree / "lib").mkdir(parents=True)
    (tree / "lib/template.S").write_text(TEMPLATE)
    (tree / "lib/crc.S").write_text('#include "template.S"\nDEFINE_FUNCS(crc16)\n')
    assert beyond_places({"crc16_avx2"}, kernel_places(tree)) == {"crc16_avx2"}
    process.run([compiler.program, "-c", tree / "lib/crc.S", "-o", output / "crc.o"], timeout=60)
    vectors = _compile(compiler, output, "x86-64-v3")
    for built, made_from in (("crc.o", "../tree/lib/crc.S"), (vectors.name, "../tree/lib/v.c")):
        note = f"savedcmd_{built} := clang -c -o {built}\n\nsource_{built} := {made_from}\n"
        (output / f".{built}.cmd").write_text(note)
    toolchain = find_toolchain(compiler.name)
    linked: list[str | Path] = [toolchain.tool("ld.lld"), "-r", output / "crc.o", vectors]
    process.run([*linked, "-o", tmp_path / "vmlinux"], timeout=60)
    assert "crc16_avx2" in simd_functions(tmp_path / "vmlinux", objdump)
    recipe: Any = SimpleNamespace(
        arch=find_arch(),
        toolchain=toolchain,
        source=SimpleNamespace(path=tree),
        variant=SimpleNamespace(flags=()),
    )
    found = unasked(recipe, tmp_path / "vmlinux", output)
    assert found.functions == ("add", "clear", "copy")


@pytest.mark.kernel
def test_without_a_flag_that_is_the_reason_functions_are_only_named(
    micro_kernel: Kernel, micro_variant: Variant, source: Source, tmp_path: Path
) -> None:
    """The reason may be the source: here one that has no assembly in files of C."""
    recipe = make_recipe(micro_variant.with_flags("-O3"), source)
    assert not unasked(recipe, micro_kernel.vmlinux, micro_kernel.output).functions
    other = replace(recipe, source=replace(source, path=tmp_path))
    found = unasked(other, micro_kernel.vmlinux, micro_kernel.output)
    assert "fpu__init_check_bugs" in found.functions
    assert "sha256_transform_avx" not in found.functions  # its object is made of a file of assembly
    assert found.flags == ()


@pytest.fixture(scope="module")
def with_floats(tmp_path_factory: pytest.TempPathFactory) -> Variant:
    """The least kernel, with a file of C that kbuild compiles for floating-point registers."""
    config = tmp_path_factory.mktemp("config") / "floats.config"
    wanted = ("64BIT", "PRINTK", "DEBUG_KERNEL", "RUNTIME_TESTING_MENU", "DEBUG_FS", "TEST_FPU")
    config.write_text(render_config(dict.fromkeys(wanted, "y")))
    return Variant(source="debian:7.3", config=str(config))


@pytest.mark.kernel
@pytest.mark.skipif(
    not os.environ.get(ALL), reason="it compiles a small kernel each time; make test-all does"
)
def test_a_build_in_which_a_flag_makes_vectors_is_refused(
    with_floats: Variant, source: Source, tmp_path: Path
) -> None:
    recipe = make_recipe(with_floats.with_flags("-O2", "-msse2"), source)
    with pytest.raises(BuildFailed) as caught:
        build_kernel(recipe, store=tmp_path)
    assert "-msse2 lets the compiler use them in " in str(caught.value)
    assert str(caught.value).endswith("build it without -msse2")
    assert load_kernel(tmp_path / recipe.key[:20]) is None
    built = tmp_path / recipe.key[:20]
    functions = unasked(recipe, built / "vmlinux", built / "out").functions
    assert len(functions) > 100
    # kbuild's own rules allow it this one.
    assert "test_fpu" in simd_functions(built / "vmlinux", recipe.toolchain.tool("llvm-objdump"))
    assert "test_fpu" not in functions


@pytest.mark.kernel
def test_files_that_kbuild_compiles_for_these_registers_are_none_of_it(
    with_floats: Variant, source: Source, objdump: str
) -> None:
    kernel = kept_kernel(make_recipe(with_floats, source))
    assert "test_fpu" in simd_functions(kernel.vmlinux, objdump)
    assert kernel.provenance["simd"] == {"beyond": []}


@pytest.mark.kernel
def test_the_kernel_uses_them_only_where_its_source_says_so(
    micro_kernel: Kernel, places: dict[str, str], objdump: str
) -> None:
    found = simd_functions(micro_kernel.vmlinux, objdump)
    assert {"sha256_transform_avx", "aes_encrypt_aesni", "fpu__init_check_bugs"} <= found.keys()
    assert beyond_places(found, places) == set()


@pytest.mark.kernel
def test_a_variant_for_another_processor_uses_them_nowhere_else(
    source: Source, places: dict[str, str], objdump: str, tmp_path: Path
) -> None:
    """The least kernel, once as it is and once with all vectors and all vectorisation allowed."""
    config = tmp_path / "tiny.config"
    config.write_text(render_config({"64BIT": "y", "PRINTK": "y"}))
    plain = Variant(source="debian:7.3", config=str(config))
    vectors = plain.with_flags("-march=x86-64-v4", "-O3")
    found = [
        simd_functions(kept_kernel(make_recipe(variant, source)).vmlinux, objdump)
        for variant in (plain, vectors)
    ]
    assert found[0].keys() == found[1].keys() != set()
    assert beyond_places(found[1], places) == set()


@pytest.mark.kernel
def test_nor_does_any_kernel_that_was_built_here_for_a_processor(
    source: Source, places: dict[str, str], objdump: str
) -> None:
    """The four newest of them, or with KERNSMITH_EVERY_CPU=1 all."""
    kernels = [
        kernel
        for kernel in filter(None, map(load_kernel, paths.kernels().iterdir()))
        if any(flag.startswith("-march=") for flag in kernel.provenance["variant"]["flags"])
        and kernel.provenance["source"]["digest"] == source.digest
    ]
    kernels.sort(key=lambda kernel: str(kernel.provenance["built_at"]))
    for kernel in kernels if os.environ.get("KERNSMITH_EVERY_CPU") else kernels[-4:]:
        found = simd_functions(kernel.vmlinux, objdump)
        assert beyond_places(found, places) == set(), kernel.provenance["variant"]
