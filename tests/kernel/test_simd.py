# SPDX-License-Identifier: GPL-2.0-or-later
"""No compiler uses vector or floating-point registers of its own accord, whatever the processor."""

import os
from functools import cache
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith import paths, process
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.config import render_config
from kernsmith.kernel.cpu.catalogue import read_catalogue
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.simd import beyond_places, kernel_places, simd_functions
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import Compiler, find_toolchain, installed_compilers
from kernsmith.study import Variant

# The guard of arch/x86/Makefile and Makefile; the last one only where the compiler takes it.
GUARD = (
    "-mno-sse", "-mno-mmx", "-mno-sse2", "-mno-3dnow", "-mno-avx", "-mno-80387",
    "-ffreestanding", "-fno-builtin",
)  # fmt: skip
GUARD_IF_KNOWN = "-mno-fp-ret-in-387"
# What every compiler makes vectors of, if it may.
CODE = """\
struct big { long field[8]; };
void copy(struct big *to, const struct big *from) { *to = *from; }
void clear(struct big *to) { *to = (struct big){ 0 }; }
unsigned add(const unsigned *from, int count)
{
	unsigned sum = 0;

	for (int i = 0; i < count; i++)
		sum += from[i] * 3;
	return sum;
}
"""
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
    process.run([*command, "-"], timeout=60, input=CODE)
    return built


@each_compiler
def test_without_the_guard_vectors_are_found(
    compiler: Compiler, objdump: str, tmp_path: Path
) -> None:
    found = simd_functions(_compile(compiler, tmp_path, "x86-64-v3"), objdump)
    assert found.keys() == {"copy", "clear", "add"}
    assert beyond_places(found, {"copy": "lib/a.S"}) == {"clear", "add"}


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
