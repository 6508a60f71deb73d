# SPDX-License-Identifier: GPL-2.0-or-later
"""This machine, judged like glibc judges it; other machines, by what their CPUID would say."""

import re
import subprocess
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.cpu.catalogue import read_catalogue
from kernsmith.kernel.cpu.detect import (
    LEVELS,
    ONLY_BY_NAME,
    Leaves,
    best_march,
    detect_machine,
)
from kernsmith.kernel.toolchain import Compiler, installed_compilers

LOADER = Path("/lib64/ld-linux-x86-64.so.2")
EVERYTHING_SAVED = 0xE7
COMPILERS = installed_compilers()


def test_the_level_is_that_of_the_loader() -> None:
    told = subprocess.run([LOADER, "--help"], capture_output=True, text=True, check=False).stdout
    if "x86-64-v2" not in told:
        pytest.skip("glibc is older than 2.33: its loader tells no levels")
    levels = re.findall(r"x86-64-v(\d) \(supported", told)
    assert detect_machine().level == max(map(int, levels), default=1)


def test_the_identity_is_that_of_cpuinfo() -> None:
    text = Path("/proc/cpuinfo").read_text()
    seen = dict(re.findall(r"^([^\t:]+?)\s*:[ \t]*(.*)$", text, re.MULTILINE))
    machine = detect_machine()
    assert machine.vendor == seen["vendor_id"]
    assert machine.name == " ".join(seen["model name"].split())
    numbers = [int(seen[name]) for name in ("cpu family", "model", "stepping")]
    assert [machine.family, machine.model, machine.stepping] == numbers


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda each: each.name)
def test_the_best_word_is_the_processors_own_wherever_the_compiler_can(compiler: Compiler) -> None:
    machine = detect_machine()
    best = best_march(machine, compiler)
    assert best.march in compiler.words()
    assert _runs_here(best.march, compiler)
    own = machine.microarchitecture
    if own and own.march in compiler.words() and _runs_here(own.march, compiler):
        assert (best.march, best.reason) == (own.march, "")
    else:
        assert best.reason, "the processor's own word was left, so there is a reason"


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda each: each.name)
def test_the_best_word_is_no_older_than_what_native_stands_for(compiler: Compiler) -> None:
    """A compiler older than the processor takes `native` for an earlier one of the line."""
    machine, catalogue = detect_machine(), read_catalogue()
    best = best_march(machine, compiler)
    native = catalogue.find(best.native)
    own = machine.microarchitecture
    line = next((group.cpus for group in catalogue.groups if own in group.cpus), ())
    if native not in line or not _runs_here(native.march, compiler):
        pytest.skip(f"{compiler.name} takes this processor for {best.native}: of another line")
    words = [cpu.march for cpu in line]
    assert words.index(best.march) >= words.index(native.march)


def _runs_here(march: str, compiler: Compiler) -> bool:
    return compiler.features(march) - compiler.features("native") <= ONLY_BY_NAME


def _machine(signature: int, features: tuple[str, ...], vendor: bytes = b"GenuineIntel") -> Leaves:
    """CPUID of a processor with this signature (EAX of leaf 1) and these features."""
    bits = {
        "SSE3": (1, 2, 0), "SSSE3": (1, 2, 9), "FMA": (1, 2, 12), "CMPXCHG16B": (1, 2, 13),
        "SSE4.1": (1, 2, 19), "SSE4.2": (1, 2, 20), "MOVBE": (1, 2, 22), "POPCNT": (1, 2, 23),
        "AVX": (1, 2, 28), "F16C": (1, 2, 29), "BMI1": (7, 1, 3), "AVX2": (7, 1, 5),
        "BMI2": (7, 1, 8), "LAHF": (0x80000001, 2, 0), "LZCNT": (0x80000001, 2, 5),
    }  # fmt: skip

    def cpuid(leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        registers = [0, 0, 0, 0]
        if leaf == 0:
            words = [int.from_bytes(vendor[at : at + 4], "little") for at in (0, 4, 8)]
            return (7, words[0], words[2], words[1])
        if leaf == 1:
            registers[0] = signature
        for feature in features:
            if bits[feature][0] == leaf:
                registers[bits[feature][1]] |= 1 << bits[feature][2]
        return (registers[0], registers[1], registers[2], registers[3])

    return cpuid


HASWELL = _machine(0x306C3, LEVELS[0] + LEVELS[1])


def test_haswell_has_level_3_and_lacks_avx512() -> None:
    machine = detect_machine(HASWELL, EVERYTHING_SAVED)
    assert (machine.family, machine.model, machine.stepping) == (6, 0x3C, 3)
    assert machine.microarchitecture is not None
    assert machine.microarchitecture.march == "haswell"
    assert machine.level == 3
    assert machine.missing == LEVELS[2]


def test_vector_registers_that_the_system_does_not_save_are_not_usable() -> None:
    machine = detect_machine(HASWELL, xcr0=0b011)
    assert machine.level == 2
    assert machine.missing == ("AVX", "AVX2", "F16C", "FMA")


def test_one_missing_feature_lowers_the_level() -> None:
    without = tuple(feature for feature in LEVELS[0] if feature != "POPCNT")
    machine = detect_machine(_machine(0x306C3, without + LEVELS[1]), EVERYTHING_SAVED)
    assert (machine.level, machine.missing) == (1, ("POPCNT",))


def test_families_beyond_15_and_an_unknown_processor() -> None:
    zen5 = detect_machine(_machine(0xB40F40, LEVELS[0], b"AuthenticAMD"), EVERYTHING_SAVED)
    assert (zen5.family, zen5.model) == (0x1A, 0x44)
    assert zen5.microarchitecture is not None
    assert zen5.microarchitecture.march == "znver5"
    unknown = detect_machine(_machine(0xB40F40, LEVELS[0], b"NobodysChips"), EVERYTHING_SAVED)
    assert unknown.microarchitecture is None


def test_another_architecture_is_one_sentence() -> None:
    with pytest.raises(UserError, match="no x86-64 processor"):
        detect_machine(lambda leaf, subleaf: (0, 0, 0, 0))


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda each: each.name)
def test_an_unknown_processor_gets_its_level(compiler: Compiler) -> None:
    unknown = detect_machine(_machine(0xFFFFFF, LEVELS[0]), EVERYTHING_SAVED)
    assert best_march(unknown, compiler).march == "x86-64-v2"
