# SPDX-License-Identifier: GPL-2.0-or-later
"""Flags of compilers: a study may name those of harmless families, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.study import Study, plan_variants
from kernsmith.study.factors import LevelError
from kernsmith.study.flags import FAMILIES, check_flags
from kernsmith.study.words import read_variant

HARMLESS = [
    "-O2", "-O3", "-Os", "-Ofast", "-g", "-g0", "-gdwarf-5", "-w", "-Wall", "-Wno-frame-address",
    "-Werror=vla", "-fno-inline", "-fno-inline-functions", "-funroll-loops", "-falign-loops=32",
    "-falign-functions=64", "-fno-plt", "-flto=thin", "-fsplit-machine-functions",
    "-fprofile-sample-accurate", "-fbasic-block-sections=labels", "-fzero-call-used-regs=used-gpr",
    "-fno-semantic-interposition", "-fvect-cost-model=dynamic", "-freorder-blocks-algorithm=stc",
    "-march=x86-64-v3", "-mtune=skylake", "-mno-avx", "-mharden-sls=all",
    "-mbranches-within-32B-boundaries", "-mmemcpy-strategy=rep_8byte:8192:align,libcall:-1:noalign",
    "-mllvm -inline-threshold=50", "-mllvm -enable-ext-tsp-block-placement=true",
    "-mllvm -profile-summary-cutoff-hot=900000", "-mllvm -x86-align-branch=fused+jcc",
    "-mllvm -regalloc=greedy", "-mllvm -polly", "--param max-inline-insns-auto=20",
    "--param=inline-unit-growth=40", "-DKERNSMITH=1", "-DNAME", "-UNAME", "-std=gnu11",
    "-Wa,-mbranches-within-32B-boundaries",
]  # fmt: skip

# What each would do is said where it is not plain.
REFUSED = [
    "-wrapper /bin/sh,-c,reboot", "-wrapper", "-fplugin=/tmp/x.so", "-fplugin=x", "-specs=/tmp/x",
    "--specs=x", "-specs x", "@/tmp/flags", "@flags", "-B/tmp", "-B /tmp", "-Xclang -load",
    "-Xclang=-load", "-Xlinker x", "-Xassembler x", "-Xpreprocessor x", "-fuse-ld=/tmp/ld",
    "-fuse-ld=lld", "-include /etc/passwd", "-include/etc/passwd", "-imacros x", "-isystem /x",
    "-idirafter x", "-I/tmp", "-I.", "-L/tmp", "-lx", "-o /tmp/x", "-ox", "-dumpdir /tmp/",
    "-dumpbase x", "-dumpdir=x", "-save-temps", "-save-temps=obj", "--save-temps",
    "-iplugindir=/tmp", "-Wl,-T,x", "-Wa,--listing=x", "-Wa,-al=x", "-Wa,-mx,-o,y", "-Wp,-MD,x",
    "-mllvm -load=x.so", "-mllvm -load", "-mllvm --load=x", "-mllvm", "-mllvm -O3 -o",
    "-mllvm -load-pass-plugin=x", "-mllvm -info-output-file=x", "-mllvm -view-cfg",
    "-mllvm -pgo-view-counts=graph", "-mllvm -polly-show", "-mllvm -dot-cfg-mssa=x",
    "-mllvm -sample-profile-file=x", "-mllvm -x=../y", "-mllvm=-load=x", "--config /tmp/x",
    "--config=x", "--config-user-dir=x", "-fpass-plugin=x", "-fplugin-arg-x-y=z",
    "-fprofile-use=/tmp/x", "-fprofile-use", "-fprofile-dir=x", "-fauto-profile=x",
    "-fprofile-sample-use=x", "-fdump-tree-all=/tmp/x", "-fdump-tree-all", "-fopt-info-vec=x",
    "-fsave-optimization-record", "-fstack-usage", "-fcallgraph-info", "-ftime-trace=x",
    "-fcompare-debug=-O0", "-fcompare-debug", "-fsanitize-ignorelist=x", "-ftest-coverage",
    "-fmodule-mapper=|sh", "-fmodules", "-fmodules-cache-path=x", "-fsyntax-only",
    "-fcrash-diagnostics-dir=x", "-fproc-stat-report=x", "-fthinlto-index=x", "-foffload=x",
    "-fbasic-block-sections=list=x", "-ffile-prefix-map=a=b", "-fdebug-prefix-map=/=x",
    "-frandom-seed=$(reboot)", "-flto-partition=/x", "-MD", "-MF x", "-M", "-E", "-S", "-c", "-v",
    "-###", "-x c", "-T script", "-nostdinc", "--sysroot=/x", "--gcc-toolchain=/x",
    "-gcc-toolchain /x", "-gsplit-dwarf", "-gen-reproducer", "-no-canonical-prefixes",
    "-fintegrated-as=x", "-Dx=$(shell reboot)", "-Dx=`reboot`", "-Dx=a;reboot", "-D x", "-DX='y'",
    "-O3;reboot", "-O3\nreboot", "-O2$(shell reboot)", "-O2&", "-O2|sh", "-O2>x", "-O2#", "-O2\\",
    "O3", "x.c", "/tmp/x.o", "", "-", "--", "--param", "--param x=/y", "--param=x=$y",
    "-mcpu=/tmp/x", "-m$(x)", "-march=x y", "-std=/x", "-W=x", "-Wx,y", "-cc1", "-cc1as",
    "--driver-mode=g++", "-rdynamic", "-shared", "-static", "-pg", "-p", "-pipe -wrapper",
    "--ld-path=/tmp/x", "--analyze", "-analyzer-output=x", "-working-directory=/x", "-ccc-gcc-name",
    "-print-prog-name=x", "--target=x", "-target x", "-fno-x=/y", "-ｆno-inline", "-Oｓ",
]  # fmt: skip


@pytest.mark.parametrize("flags", HARMLESS)
def test_flags_of_these_families_pass(flags: str) -> None:
    check_flags(flags.split())
    study = Study(source="x", config="lab", factors=(), flags=tuple(flags.split()))
    (variant,) = plan_variants(study, ())
    assert variant.flags == tuple(flags.split())


@pytest.mark.parametrize("flags", REFUSED)
def test_all_others_are_refused_with_what_is_allowed(flags: str) -> None:
    with pytest.raises(UserError) as caught:
        check_flags(flags.split(" "))
    assert all(family in str(caught.value) for family in FAMILIES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("flags", ["-wrapper x", "-O2 @x", "-mllvm", "-Wl,-T,x", "-B/tmp"])
def test_there_is_no_way_round_the_list(flags: str) -> None:
    """[source] flags, factors, named variants and the words of `compare` are looked at alike."""
    for fields in (
        {"flags": tuple(flags.split())},
        {"factors": (("flags", ("none", flags)),)},
        {"factors": (("flags_mine", ("none", flags)),)},
        {"variants": (("a", ()), ("b", (("flags", flags),)))},
    ):
        study = Study(**({"source": "x", "config": "lab", "factors": ()} | fields))  # type: ignore[arg-type]
        with pytest.raises(LevelError, match="is not allowed in a study"):
            plan_variants(study, ())
    with pytest.raises(UserError, match="is not allowed in a study"):
        read_variant(f"default,flags={flags}", None)


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_nothing_that_make_or_a_shell_expands_passes(text: str) -> None:
    """Whatever stands in a flag: what passes has no character that is special to anyone."""
    try:
        check_flags([f"-{text}"])
    except UserError:
        return
    assert not set(text) & set(" \t\n$`'\"\\;&|<>(){}[]*?!#~^/")
    assert text.isascii()
