# SPDX-License-Identifier: GPL-2.0-or-later
"""A module's code where a kernel has loaded it: symbols, calls and profiles of a small real one."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.module_code import code_spans, module_image, module_symbols
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.process import run
from kernsmith.profile.counts import BranchCounts
from kernsmith.profile.functions import function_shares
from kernsmith.profile.symbolized import symbolized
from whole_provenance import provenance

CLANG = find_toolchain()
START = 0xFFFFFFFFA0002040
BEFORE = 0xFFFFFFFFA0001000

KERNEL = "int printed(int x)\n{\n\treturn x + 1;\n}\n"
MODULE = """
extern int printed(int x);
static int table[4] = { 1, 2, 3, 4 };
__attribute__((section(".init.text"))) int init_module(void)
{
	return 0;
}
__attribute__((noinline)) int often(int x)
{
	return printed(table[x & 3]) + 1;
}
__attribute__((section(".noinstr.text"))) int seldom(int x)
{
	return often(x) + 2;
}
"""


@dataclass(frozen=True)
class Loaded:
    """A kernel's folder with one module, and where its sections are."""

    kernel: Kernel
    sections: dict[str, int]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "modules").mkdir()
    for name, text in (("kernel", KERNEL), ("module", MODULE)):
        source = folder / f"{name}.c"
        source.write_text(text)
        flags = [
            "-O2",
            "-gmlt",
            "-fdebug-info-for-profiling",
            "-fno-pic",
            "-mcmodel=kernel",
            "-ffreestanding",
        ]
        run([CLANG.compiler.program, *flags, "-c", "-o", folder / f"{name}.o", source], timeout=60)
    lld = CLANG.tool("ld.lld")
    run(
        [lld, "--image-base=0xffffffff81000000", "--entry=printed", "-o", folder / "vmlinux",
         folder / "kernel.o"],
        timeout=60,
    )  # fmt: skip
    run([lld, "-r", "-o", folder / "modules/one.ko", folder / "module.o"], timeout=60)
    told = provenance(
        "ab" * 32,
        variant={"compiler": CLANG.compiler.name},
        modules=[{"name": "one", "file": "x/one.ko"}],
    )
    (folder / "provenance.json").write_text(json.dumps(told))
    sections = {".text": START, ".noinstr.text": BEFORE, ".init.text": START + 0x1000, ".data": 1}
    return Loaded(Kernel("ab" * 32, folder, told), sections)


def test_code_that_stays_is_placed_and_what_passes_is_not(loaded: Loaded) -> None:
    spans = code_spans(loaded.kernel, {"one": loaded.sections, "unknown": {".text": 4096}})
    assert set(spans) == {"one"}
    assert set(spans["one"]) == {".text", ".noinstr.text"}
    first, end = spans["one"][".text"]
    assert first == START
    assert 4 < end - first < 200


def test_functions_of_modules_have_their_names_and_places(loaded: Loaded) -> None:
    spans = code_spans(loaded.kernel, {"one": loaded.sections})
    symbols = module_symbols(loaded.kernel.folder, spans)
    at = {symbol.name: symbol.address for symbol in symbols}
    assert at["often [one]"] == START
    assert at["seldom [one]"] == BEFORE
    assert "init_module [one]" not in at
    assert "printed [one]" not in at
    _, end = spans["one"][".text"]
    counts = BranchCounts({(START, START + 3): 9, (end + 64, end + 67): 1}, {(1, START): 9})
    shares = {each.name: each for each in function_shares(counts, symbols)}
    assert (shares["often [one]"].share, shares["often [one]"].entered) == (0.9, 9)
    assert shares["?"].share == 0.1


def test_a_module_that_is_no_longer_there_is_named_as_a_whole(
    loaded: Loaded, tmp_path: Path
) -> None:
    spans = code_spans(loaded.kernel, {"one": loaded.sections})
    names = [symbol.name for symbol in module_symbols(tmp_path, spans)]
    assert names == ["[one]", "?", "[one]", "?"]


def test_counts_of_a_module_become_a_profile_of_its_functions(
    loaded: Loaded, tmp_path: Path
) -> None:
    spans = code_spans(loaded.kernel, {"one": loaded.sections})["one"]
    image = module_image(loaded.kernel, "one", spans)
    shown = run([CLANG.tool("llvm-objdump"), "--disassemble-symbols=often", image], timeout=60)
    named = run([CLANG.tool("llvm-nm"), loaded.kernel.vmlinux], timeout=60).output.split()
    printed = named[named.index("printed") - 2].lstrip("0")
    assert re.search(rf"call\S*\s+0x{printed}\b", shown.output), "a call leads to the kernel's own"
    counts = BranchCounts({(START, START + 4): 40}, {(1, START): 40})
    text = symbolized(counts, image, CLANG, tmp_path / "profile", None, form="text").read_text()
    assert text.startswith("often:")
    assert ":40\n" in text.splitlines(keepends=True)[0]
    assert module_image(loaded.kernel, "one", spans) == image
