# SPDX-License-Identifier: GPL-2.0-or-later
"""What may not be mixed is refused with its reason; what may is not."""

import re
from pathlib import Path
from typing import Any

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixable import disagreement, may_differ, refuse_mix


def kernel(folder: Path, name: str, config: str = "", **provenance: Any) -> Kernel:
    (folder / name).mkdir()
    (folder / name / "config").write_text(f"CONFIG_SMP=y\n{config}\n")
    said: dict[str, Any] = {
        "variant": {"name": name, "flags": provenance.pop("flags", []), "trains": ""},
        "source": {"digest": "sha256:0"},
    }
    return Kernel(name * 20, folder / name, said | provenance)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"source": {"digest": "sha256:1"}}, "of two sources; kernsmith bisect"),
        ({"bolted": {"kernel": "c" * 40}}, "'b' was rewritten by BOLT .*: take .*c{20}$"),
        ({"config": "CONFIG_LTO_CLANG=y"}, "'b' has link-time optimisation"),
        ({"config": "CONFIG_X86_KERNEL_IBT=y"}, "'b' has CONFIG_X86_KERNEL_IBT: "),
        ({"config": "CONFIG_PSI=y\nCONFIG_HZ=1000"}, "differ in CONFIG_HZ, CONFIG_PSI: "),
        ({"flags": ["-fshort-enums"]}, "only one is compiled with -fshort-enums: types"),
        ({"flags": ["-DX=1"]}, "-DX=1: a macro"),
        ({"variant": {"name": "b", "flags": [], "trains": "instrumented"}}, "counters"),
    ],
)
def test_kernels_that_do_not_fit_are_refused(
    other: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    one = kernel(tmp_path, "a")
    two = kernel(tmp_path, "b", **other)
    with pytest.raises(UserError, match="objects of 'a' and 'b' cannot be mixed: ") as caught:
        refuse_mix(one, two)
    assert re.search(reason, str(caught.value))
    assert "\n" not in str(caught.value)


def test_other_compilers_levels_and_profiles_fit(tmp_path: Path) -> None:
    one = kernel(tmp_path, "a", "CONFIG_CC_IS_CLANG=y\nCONFIG_AUTOFDO_CLANG=y", flags=["-O3"])
    two = kernel(tmp_path, "b", "CONFIG_GCC_VERSION=120200", flags=["-fno-inline", "-O2"])
    refuse_mix(one, two)


@pytest.mark.parametrize("symbol", ["CC_IS_GCC", "LLD_VERSION", "AUTOFDO_CLANG", "DEBUG_INFO_NONE"])
def test_symbols_of_tools_may_differ(symbol: str) -> None:
    assert may_differ(symbol)


@pytest.mark.parametrize(
    "symbol", ["SMP", "DEBUG_INFO_BTF", "PREEMPT_LAZY", "NR_CPUS", "CALL_PADDING"]
)
def test_symbols_of_structures_may_not(symbol: str) -> None:
    assert not may_differ(symbol)


@pytest.mark.parametrize(
    "flag", ["-O3", "-march=x86-64-v3", "-falign-functions=64", "-fno-inline", "-g", "-Wno-x"]
)
def test_flags_of_code_alone_are_no_disagreement(flag: str) -> None:
    assert disagreement(flag) == ""
