# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be built is known before anything is built: real compilers, a real source."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.kernel.constraints import refusal
from kernsmith.kernel.sections import SCRIPT, gathers_functions, needed_options
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study import Step, Study, Variant, plan_variants


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def variant(**levels: str) -> Variant:
    factors = tuple((name, (level,)) for name, level in levels.items())
    return plan_variants(Study(source="debian:7.3", config="micro", factors=factors), ("pipe",))[0]


@pytest.mark.parametrize(
    "levels",
    [
        {},
        {"march": "x86-64-v3", "mtune": "skylake", "optimisation": "O3", "alignment": "64"},
        {"lto": "thin"},
        {"lto": "full", "profile": "autofdo"},
        {"profile": "autofdo+thinlto-dist+propeller"},
        {"flags": "-fno-inline-functions"},
    ],
    ids=str,
)
def test_what_clang_can_do_is_allowed(levels: dict[str, str], source: Source) -> None:
    assert refusal(variant(**levels), source, layouts=True) is None


@needs("gcc-12")
def test_what_gcc_can_do_is_allowed_with_layouts(source: Source) -> None:
    levels = {"compiler": "gcc-12", "march": "x86-64-v3", "optimisation": "Os", "profile": "none"}
    assert refusal(variant(**levels), source, layouts=True) is None


@needs("gcc-12", "ld.bfd")
@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ({"march": "no-such-cpu"}, "does not take -march=no-such-cpu: .*no-such-cpu"),
        ({"march": "i686"}, "does not take -march=i686"),
        ({"mtune": "no-such-cpu"}, "does not take -mtune=no-such-cpu"),
        ({"compiler": "gcc-12", "march": "znver4"}, "gcc-12 does not take -march=znver4: bad val"),
        ({"flags": "-O3 -fconserve-stack"}, "does not take -fconserve-stack"),
        ({"compiler": "gcc-12", "lto": "thin"}, "CONFIG_LTO_CLANG_THIN needs clang"),
        ({"linker": "bfd", "lto": "full"}, "CONFIG_LTO_CLANG_FULL needs lld"),
        ({"compiler": "gcc-12", "profile": "thinlto"}, "CONFIG_LTO_CLANG_THIN needs clang"),
        ({"linker": "bfd", "profile": "thinlto"}, "CONFIG_LTO_CLANG_THIN needs lld"),
        ({"linker": "bfd"}, "cannot order functions .* layouts = 0"),
        ({"compiler": "gcc-12", "profile": "autofdo"}, "needs clang"),
        ({"CONFIG_CRYPTO_PCRIPT": "y"}, "this source has no config symbol CONFIG_CRYPTO_PCRIPT"),
    ],
    ids=str,
)
def test_what_cannot_be_built_has_a_reason(
    levels: dict[str, str], told: str, source: Source
) -> None:
    reason = refusal(variant(**levels), source, layouts=True)
    assert reason is not None
    assert re.search(told, reason), reason


@needs("ld.bfd")
def test_gnu_ld_is_allowed_without_layouts(source: Source) -> None:
    assert refusal(variant(linker="bfd"), source, layouts=False) is None


def test_a_source_says_itself_which_compilers_are_too_old(source: Source, tmp_path: Path) -> None:
    """The same script with higher figures: every installed compiler is too old for that source."""
    script = tmp_path / "scripts/min-tool-version.sh"
    script.parent.mkdir()
    text = (source.path / "scripts/min-tool-version.sh").read_text()
    script.write_text(text.replace("echo 17.0.1", "echo 99.1.0"))
    old = replace(source, path=tmp_path, name="linux-99")
    reason = refusal(Variant(source="x", config="micro"), old, layouts=False)
    assert reason is not None
    assert "linux-99 needs llvm 99.1.0 or newer" in reason


def test_a_linker_must_read_the_bitcode_of_a_newer_compiler(source: Source) -> None:
    newest = find_toolchain()
    older = next(
        (n for n in range(newest.compiler.version - 1, 16, -1) if shutil.which(f"ld.lld-{n}")), None
    )
    if older is None:
        pytest.skip("only one version of lld is installed")
    reason = refusal(variant(linker=f"lld-{older}", lto="thin"), source, layouts=True)
    assert reason is not None
    assert "as new as the compiler" in reason


def test_a_config_with_lto_takes_no_step_of_it(source: Source, tmp_path: Path) -> None:
    config = tmp_path / "thin.config"
    config.write_text("CONFIG_64BIT=y\nCONFIG_LTO_CLANG_THIN=y\n")
    asked = replace(variant(profile="full-lto"), config=str(config))
    told = str(refusal(asked, source, layouts=True))
    assert "thin.config has CONFIG_LTO_CLANG_THIN: the step full-lto is for configs without" in told


def test_autofdo_needs_a_new_clang(source: Source) -> None:
    old = next((n for n in (18, 17) if shutil.which(f"clang-{n}")), None)
    if old is None:
        pytest.skip("neither clang-17 nor clang-18 is installed")
    asked = Variant("x", "micro", compiler=f"clang-{old}", steps=(Step("autofdo"),))
    assert "needs clang 19 or newer" in str(refusal(asked, source, layouts=False))


OLD = """\
#ifdef CONFIG_OTHER
#define OTHER
#endif
#if defined(CONFIG_LD_DEAD_CODE_DATA_ELIMINATION) || defined(CONFIG_LTO_CLANG)
#define TEXT_MAIN .text .text.[0-9a-zA-Z_]*
#else
#define TEXT_MAIN .text
#endif
"""


def test_functions_have_sections_only_where_the_linker_script_gathers_them(
    source: Source, tmp_path: Path
) -> None:
    assert needed_options(source.path) == ()
    script = tmp_path / SCRIPT
    script.parent.mkdir(parents=True)
    script.write_text(OLD)
    assert needed_options(tmp_path) == ("LD_DEAD_CODE_DATA_ELIMINATION", "LTO_CLANG")
    assert not gathers_functions(tmp_path, {"LTO_CLANG": "n"})
    assert gathers_functions(tmp_path, {"LTO_CLANG_THIN": "y"})
    old = replace(source, path=tmp_path, name="linux-6.1")
    plain = Variant(source="x", config="micro")
    assert "set one of CONFIG_LD_DEAD" in str(refusal(plain, old, layouts=True))
    assert refusal(plain, old, layouts=False) is None


def test_counters_in_a_kernel_that_loads_modules_are_refused(source: Source) -> None:
    counted = variant(profile="instrumented", modules="loop+ext2")
    told = refusal(counted, source, layouts=False)
    assert told is not None
    assert "modules (loop, ext2) cannot reach them" in told
    assert refusal(variant(profile="autofdo", modules="loop"), source, layouts=True) is None
