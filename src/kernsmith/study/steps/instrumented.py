# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumented profile-guided optimisation: the kernel that is trained on has counters in it.

kbuild knows which objects may have code put into them (not those of early boot, of the vDSO, of
the decompressor …): those that it gives the flags of its own gcov support (CFLAGS_GCOV of Makefile
and scripts/Makefile.lib). kernsmith gives other flags in their place, and no config symbol changes:
code that is compiled with the profile has the same control flow as that which was counted.
"""

from __future__ import annotations

from kernsmith.study.steps.kind import Instrumentation, StepKind

# Counters are one word for each edge, wherever they lie. Values (which functions are called through
# pointers, how long copies are) are shown to functions of the compiler's run-time library, which
# would keep them in memory of its own: here the machine sees the calls.
_CLANG = (
    "-fprofile-generate", "-mllvm", "-runtime-counter-relocation=false",
    "-mllvm", "-vp-static-alloc=false",
)  # fmt: skip
_GCC = ("-fprofile-arcs", "-fprofile-update=single", "-fno-tree-loop-im", "-fprofile-info-section")


# What no linker script names is put behind the last section of its kind, and that is freed when the
# kernel has started. The functions that values are shown to are one instruction, which returns.
_CLANG_SCRIPT = """\
SECTIONS
{
	.text.shown_values : {
		__llvm_profile_instrument_target = .; RETURN
		__llvm_profile_instrument_memop = .; RETURN
	}
}
INSERT AFTER .text;
SECTIONS
{
	__llvm_prf_cnts : ALIGN(8) { *(__llvm_prf_cnts) }
	__llvm_prf_data : ALIGN(8) { *(__llvm_prf_data) }
	__llvm_prf_names : { *(__llvm_prf_names) }
}
INSERT AFTER .data;
"""
# Of gcc's, the pointers to its records; counters are variables like others.
_GCC_SCRIPT = """\
SECTIONS
{
	.gcov_info : ALIGN(8) { *(.gcov_info) }
}
INSERT AFTER .data;
"""


def _instrument(family: str, returns: bytes) -> Instrumentation:
    instruction = " ".join(f"BYTE({byte:#x})" for byte in returns)
    flags, script = (_CLANG, _CLANG_SCRIPT) if family == "clang" else (_GCC, _GCC_SCRIPT)
    return Instrumentation(
        variables=(
            ("CONFIG_GCOV_KERNEL", "y"),
            ("CONFIG_GCOV_PROFILE_ALL", "y"),
            ("CFLAGS_GCOV", " ".join(flags)),
            # Counting needs registers; what is spilled for it lies on the stack.
            ("CONFIG_FRAME_WARN", "0"),
        ),
        script=script.replace("RETURN", instruction),
    )


# kbuild knows nothing of either; its compiler (native/compiler) does.
KIND = StepKind(
    name="instrumented",
    title="Instrumented PGO",
    description="compiled with what counters in the kernel counted in the training runs",
    oldest_clang=19,
    oldest_gcc=12,
    suffixes=(".instrumented", ".seen", ".objects"),
    two_ways=(0, 1),
    make_variables=lambda files: (
        ("KERNSMITH_PROFILE", files[0]),
        ("KERNSMITH_PROFILED_OBJECTS", files[1]),
    ),
    instrument=_instrument,
    instead_of=("autofdo",),
)
