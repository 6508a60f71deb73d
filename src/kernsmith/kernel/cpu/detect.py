# SPDX-License-Identifier: GPL-2.0-or-later
"""This machine's processor: who it is, which x86-64 level it has, what to compile for on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import pack

from kernsmith import _native
from kernsmith.errors import KernsmithError, UserError
from kernsmith.kernel.cpu.catalogue import Catalogue, Cpu, read_catalogue
from kernsmith.kernel.toolchain import Compiler

# What a level needs: glibc's sysdeps/x86_64/dl-hwcaps_subdirs.c, which follows the x86-64 psABI.
LEVELS: tuple[tuple[str, ...], ...] = (
    ("CMPXCHG16B", "LAHF", "POPCNT", "SSE3", "SSE4.1", "SSE4.2", "SSSE3"),
    ("AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA", "LZCNT", "MOVBE"),
    ("AVX512BW", "AVX512CD", "AVX512DQ", "AVX512F", "AVX512VL"),
)
# Leaf, register (EAX … EDX) and bit of a feature: Intel's SDM, volume 2A, table 3-8 and after;
# AMD's APM, volume 3, appendix E.
_BITS = {
    "SSE3": (1, 2, 0), "SSSE3": (1, 2, 9), "FMA": (1, 2, 12), "CMPXCHG16B": (1, 2, 13),
    "SSE4.1": (1, 2, 19), "SSE4.2": (1, 2, 20), "MOVBE": (1, 2, 22), "POPCNT": (1, 2, 23),
    "AVX": (1, 2, 28), "F16C": (1, 2, 29), "BMI1": (7, 1, 3), "AVX2": (7, 1, 5),
    "BMI2": (7, 1, 8), "AVX512F": (7, 1, 16), "AVX512DQ": (7, 1, 17), "AVX512CD": (7, 1, 28),
    "AVX512BW": (7, 1, 30), "AVX512VL": (7, 1, 31),
    "LAHF": (0x80000001, 2, 0), "LZCNT": (0x80000001, 2, 5),
}  # fmt: skip
# Register sets in XCR0 that the operating system must save before a feature may be used.
_YMM = 0b110
_ZMM = 0b11100110
_SAVED = {"AVX": _YMM, "AVX2": _YMM, "F16C": _YMM, "FMA": _YMM}
# Instructions that no compiler uses unless the program names them (by an intrinsic or in assembly):
# system management, random numbers, cache control, cryptography, transactions, tiles.
ONLY_BY_NAME = frozenset({
    "AES", "AMX_BF16", "AMX_COMPLEX", "AMX_FP16", "AMX_FP8", "AMX_INT8", "AMX_MOVRS", "AMX_TF32",
    "AMX_TILE", "AMX_TRANSPOSE", "CLDEMOTE", "CLFLUSHOPT", "CLWB", "CLZERO", "ENQCMD", "FSGSBASE",
    "FXSR", "HLE", "HRESET", "INVPCID", "KL", "LWP", "MOVDIR64B", "MOVDIRI", "MWAIT", "MWAITX",
    "PCLMUL", "PCONFIG", "PKU", "PREFETCHI", "PTWRITE", "RDPID", "RDPRU", "RDRND", "RDSEED",
    "RTM", "SERIALIZE", "SGX", "SHA", "SHA512", "SHSTK", "SM3", "SM4", "TSXLDTRK", "UINTR",
    "USER_MSR", "VAES", "VPCLMULQDQ", "WAITPKG", "WBNOINVD", "WIDEKL", "XSAVE", "XSAVEC",
    "XSAVEOPT", "XSAVES",
})  # fmt: skip

Leaves = Callable[[int, int], tuple[int, int, int, int]]


@dataclass(frozen=True)
class Machine:
    """A processor as it shows itself.

    name: its own words. microarchitecture: its entry in the catalogue, if it has one.
    level: 1 to 4. missing: the features that the next level needs and that are not usable.
    """

    vendor: str
    name: str
    family: int
    model: int
    stepping: int
    microarchitecture: Cpu | None
    level: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Best:
    """What to give a compiler as `-march=` on this machine.

    march: the best word of the catalogue. native: what the compiler takes `native` for.
    reason: why the processor's own word was not taken; empty if it was.
    """

    compiler: Compiler
    march: str
    native: str
    reason: str


def detect_machine(
    cpuid: Leaves = _native.cpuid, xcr0: int | None = None, cpuinfo: Path = Path("/proc/cpuinfo")
) -> Machine:
    """The processor that runs this.

    cpuid, xcr0: the processor's answers (for tests). cpuinfo: where Linux shows the name that it
        gives a processor which has none.

    Raises UserError on a machine that is not x86-64.
    """
    vendor = pack("<III", *(cpuid(0, 0)[register] for register in (1, 3, 2))).decode("latin-1")
    signature = cpuid(1, 0)[0]
    if not signature:
        raise UserError("this machine's processor is no x86-64 processor: there is nothing to tell")
    family, model, stepping = _identity(signature)
    level, missing = _level(cpuid, _native.xcr0() if xcr0 is None else xcr0)
    return Machine(
        vendor=vendor,
        name=_brand(cpuid) or _name_in(cpuinfo),
        family=family,
        model=model,
        stepping=stepping,
        microarchitecture=read_catalogue().identify(vendor, family, model, stepping),
        level=level,
        missing=missing,
    )


def _identity(signature: int) -> tuple[int, int, int]:
    """Family, model and stepping from EAX of leaf 1 (Intel's SDM, figure 3-6)."""
    family, model = signature >> 8 & 0xF, signature >> 4 & 0xF
    if family in (6, 15):
        model |= (signature >> 16 & 0xF) << 4
    if family == 15:
        family += signature >> 20 & 0xFF
    return family, model, signature & 0xF


def _level(cpuid: Leaves, xcr0: int) -> tuple[int, tuple[str, ...]]:
    for number, needs in enumerate(LEVELS, start=1):
        missing = tuple(feature for feature in needs if not _usable(feature, cpuid, xcr0))
        if missing:
            return number, missing
    return len(LEVELS) + 1, ()


def _usable(feature: str, cpuid: Leaves, xcr0: int) -> bool:
    leaf, register, bit = _BITS[feature]
    saved = _ZMM if feature.startswith("AVX512") else _SAVED.get(feature, 0)
    return bool(cpuid(leaf, 0)[register] >> bit & 1) and xcr0 & saved == saved


def _brand(cpuid: Leaves) -> str:
    text = b"".join(pack("<IIII", *cpuid(leaf, 0)) for leaf in range(0x80000002, 0x80000005))
    return " ".join(text.partition(b"\0")[0].decode("latin-1").split())


def _name_in(cpuinfo: Path) -> str:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def best_march(machine: Machine, compiler: Compiler) -> Best:
    """The best word that the compiler takes and whose instructions this machine has.

    The compiler's own `native` says which instructions the machine has: a virtual machine can
    hide some that its processor has. Those that a compiler uses only where the program asks for
    them by name do not count. The processor's own word comes first, then older ones of its line,
    then the x86-64 levels.
    """
    native = compiler.native()
    usable = compiler.features("native")
    reasons = []
    for march in _candidates(machine, read_catalogue()):
        if march not in compiler.words():
            reasons.append(f"{compiler.name} does not know {march}")
            continue
        lacking = sorted(compiler.features(march) - usable - ONLY_BY_NAME)
        if not lacking:
            return Best(compiler, march, native, reasons[0] if reasons else "")
        reasons.append(f"{march} needs {', '.join(lacking)}, not usable here")
    raise KernsmithError(f"{compiler.name} knows no -march= that this machine can run")


def _candidates(machine: Machine, catalogue: Catalogue) -> Iterator[str]:
    own = machine.microarchitecture
    for group in catalogue.groups:
        if own is not None and own in group.cpus:
            line = group.cpus[: group.cpus.index(own) + 1]
            # Beyond level 3 there are only vectors, which kernels do not use: an older processor
            # of the line is a better description than the level.
            least = min(machine.level, 3)
            yield from (cpu.march for cpu in reversed(line) if cpu is own or cpu.level >= least)
    yield from (level.march for level in reversed(catalogue.levels) if level.level <= machine.level)
