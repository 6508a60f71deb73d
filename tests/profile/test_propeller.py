# SPDX-License-Identifier: GPL-2.0-or-later
"""Propeller's profile of a small program: clang takes it without a word, and lays blocks out."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import Symbol
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import BranchCounts, find_profile_maker, write_counts
from kernsmith.profile import propeller as propeller_module
from kernsmith.profile.propeller import KEPT, carry_blocks, make_propeller

CLANG = find_toolchain()
BUILD_ID = "ab12"
# Two objects have a function of this name; `often` is written so that what runs stands last.
SOURCES = {
    "one.c": """
        void out(int);
        static __attribute__((noinline)) int twin(int x) { if (x > 5) out(1); return x * 3; }
        int often(int x)
        {
            if (__builtin_expect(x == 7, 1)) { out(2); out(3); }
            else out(4);
            return twin(x);
        }
        """,
    "two.c": """
        void out(int);
        static __attribute__((noinline)) int twin(int x) { if (x < 5) out(5); return x / 3; }
        int rarely(int x) { return twin(x); }
        void out(int x) { }
        """,
}
FLAGS = ("-O2", "-gmlt", "-ffunction-sections", "-Wall", "-Werror")


@dataclass(frozen=True)
class Program:
    """What is linked, and its symbols."""

    kernel: Kernel
    symbols: dict[str, Symbol]


def called(*words: str | Path) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def compiled(folder: Path, *flags: str, sources: Mapping[str, str] = SOURCES) -> list[Path]:
    objects = []
    for name, text in sources.items():
        source = folder / name
        source.write_text(text)
        objects.append(source.with_suffix(".o"))
        # Sources are called the same wherever they lie, as in kernels.
        called_so = f"-ffile-prefix-map={folder}/="
        called(CLANG.compiler.program, *FLAGS, called_so, *flags, "-c", "-o", objects[-1], source)
    return objects


def linked(folder: Path, objects: list[Path], *flags: str) -> list[Symbol]:
    image = folder / "vmlinux"
    fixed = ("-e", "often", "--image-base=0x100000", "-o", image)
    called(CLANG.linker.program, *fixed, *flags, *objects)
    lines = called(CLANG.tool("llvm-nm"), "-n", image).splitlines()
    found = [line.split() for line in lines]
    return [Symbol(int(address, 16), kind, name) for address, kind, name in found]


def write_map(folder: Path, symbols: list[Symbol]) -> list[Symbol]:
    """Write `System.map`; returns the symbols of code."""
    code = [symbol for symbol in symbols if symbol.kind in "tT"]
    ends = [Symbol(code[0].address, "T", "_stext"), Symbol(code[-1].address + 4096, "T", "_etext")]
    lines = [f"{each.address:x} {each.kind} {each.name}\n" for each in [*code, *ends]]
    (folder / "System.map").write_text("".join(lines))
    return code


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("program")
    symbols = linked(folder, compiled(folder, "-fbasic-block-address-map"))
    code = write_map(folder, symbols)
    kernel = Kernel("0" * 64, folder, {"build_id": BUILD_ID, "variant": {}})
    return Program(kernel, {symbol.name: symbol for symbol in code})


@pytest.fixture(scope="module")
def counts(program: Program) -> BranchCounts:
    """`often` ran to its end ten times, straight on; so did the first function of its name."""
    starts = sorted(symbol.address for symbol in program.symbols.values())
    often = program.symbols["often"].address
    end = next(start for start in starts if start > often)
    twin = program.symbols["twin"].address
    return BranchCounts({(often, often + 2): 10, (twin, twin + 1): 4}, {(end, often): 10}, BUILD_ID)


def test_clang_takes_the_profile_without_a_word_and_puts_what_never_ran_aside(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    clusters, order = make_propeller(counts, program.kernel, tmp_path / "made")
    assert [file.name for file in (clusters, order)] == [
        "made_cc_profile.txt", "made_ld_profile.txt",
    ]  # fmt: skip
    text = clusters.read_text()
    assert text.startswith("v1\n")
    assert "\nf often\nc 0" in text
    assert text.count("f twin\n") == 1
    assert sorted(order.read_text().split()) == ["often", "twin"]
    flags = (f"-fbasic-block-sections=list={clusters}", "-Wbackend-plugin")
    objects = compiled(tmp_path, *flags)
    symbols = linked(tmp_path, objects, f"--symbol-ordering-file={order}")
    names = [symbol.name for symbol in symbols]
    assert "often.cold" in names
    assert names.count("twin.cold") <= 1


def test_local_functions_of_one_name_are_told_apart_by_their_source(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    text = make_propeller(counts, program.kernel, tmp_path / "made")[0].read_text()
    lines = text.splitlines()
    assert lines[lines.index("f twin") - 1] in {f"m {name}" for name in SOURCES}
    assert lines[lines.index("f often") - 1] == "m one.c"


def test_the_compilers_order_can_be_kept(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    text = make_propeller(counts, program.kernel, tmp_path / "made", KEPT)[0].read_text()
    assert "\nf often\nc 0" in text


def test_counts_of_the_users_are_taken_with_their_build_id_only(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    path = tmp_path / "mine.counts"
    maker = find_profile_maker("propeller")
    write_counts(counts, path)
    made = maker.usable((path,), program.kernel, CLANG, tmp_path / "given")
    assert made[0].read_text().startswith("v1\n")
    write_counts(replace(counts, build_id="00"), path)
    with pytest.raises(UserError, match="is not in the cache: its build id is 00"):
        maker.usable((path,), program.kernel, CLANG, tmp_path / "given")
    path.write_text("v1\nf often\nc 0\n")
    with pytest.raises(UserError, match="is not a profile of kernsmith"):
        maker.usable((path,), program.kernel, CLANG, tmp_path / "given")


def test_counts_of_a_neighbouring_version_are_taken_where_blocks_are_the_same(
    program: Program, counts: BranchCounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind another function, with another number in it, `often` has its blocks; `twin` of the
    second file has one more."""
    newer = {
        "one.c": "int first(int x) { return x * 7; }\n"
        + SOURCES["one.c"].replace("x == 7", "x == 77777"),
        "two.c": SOURCES["two.c"].replace("return", 'if (x > 99) __asm__ volatile("nop"); return'),
    }
    folder = tmp_path / "newer"
    folder.mkdir()
    symbols = linked(folder, compiled(folder, "-fbasic-block-address-map", sources=newer))
    write_map(folder, symbols)
    kernel = Kernel("1" * 64, folder, {"build_id": "cd34", "variant": {}})
    carried = carry_blocks(counts, program.kernel, kernel)
    assert (carried.executed, carried.same) == (2, 1)
    # 30 of 38 bytes that were executed are of `often`.
    assert carried.share == pytest.approx(30 / 38)
    (often,) = (symbol.address for symbol in symbols if symbol.name == "often")
    assert often != program.symbols["often"].address
    assert [first for first, _ in carried.counts.ranges] == [often]
    # A file of the older one's counts is found by its build id.
    path = tmp_path / "older.counts"
    write_counts(counts, path)
    monkeypatch.setattr(propeller_module, "counted_kernel", {BUILD_ID: program.kernel}.get)
    maker = find_profile_maker("propeller")
    told = maker.tell((path,), kernel, CLANG)
    assert told.endswith(
        "1 of its 2 functions that ran have the same blocks in this one, 78.9% of what was executed"
    )
    clusters, order = maker.usable((path,), kernel, CLANG, tmp_path / "given")
    assert order.read_text().split() == ["often"]
    flags = (f"-fbasic-block-sections=list={clusters}", "-Wbackend-plugin")
    named = [each.name for each in linked(folder, compiled(folder, *flags, sources=newer))]
    assert "often.cold" in named
    assert "twin.cold" not in named


def test_counts_that_cover_nothing_are_refused(program: Program, tmp_path: Path) -> None:
    for counts in (BranchCounts({}, {}, BUILD_ID), BranchCounts({(1, 9): 5}, {}, BUILD_ID)):
        with pytest.raises(UserError, match="covers nothing of the kernel"):
            make_propeller(counts, program.kernel, tmp_path / "made")


def test_a_kernel_without_a_map_is_one_sentence(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    (tmp_path / "System.map").write_text((program.kernel.folder / "System.map").read_text())
    linked(tmp_path, compiled(tmp_path))
    bare = replace(program.kernel, folder=tmp_path)
    with pytest.raises(UserError, match="it has no map of basic blocks") as caught:
        make_propeller(counts, bare, tmp_path / "made")
    assert "\n" not in str(caught.value)


def test_a_map_of_an_unknown_version_is_one_sentence(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    image = program.kernel.vmlinux
    changed = tmp_path / "vmlinux"
    section = tmp_path / "map"
    section.write_bytes(bytes([9, 0, 0, 0]))
    changing = ("--update-section", f".llvm_bb_addr_map={section}")
    called(CLANG.tool("llvm-objcopy"), *changing, image, changed)
    (tmp_path / "System.map").write_text((program.kernel.folder / "System.map").read_text())
    with pytest.raises(UserError, match="has version 9: known are 2 to 5"):
        make_propeller(counts, replace(program.kernel, folder=tmp_path), tmp_path / "made")


def test_a_file_that_is_cut_off_is_one_sentence(
    program: Program, counts: BranchCounts, tmp_path: Path
) -> None:
    (tmp_path / "System.map").write_text((program.kernel.folder / "System.map").read_text())
    whole = program.kernel.vmlinux.read_bytes()
    (tmp_path / "vmlinux").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"there is no Propeller profile of .*usable") as caught:
        make_propeller(counts, replace(program.kernel, folder=tmp_path), tmp_path / "made")
    assert "\n" not in str(caught.value)
