# SPDX-License-Identifier: GPL-2.0-or-later
"""How kbuild is started for a variant: its command line and environment, the same everywhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kernsmith.kernel.compile_cache import cache_environment, through_cache
from kernsmith.kernel.link import LINKED
from kernsmith.kernel.link_rules import WORD
from kernsmith.kernel.modules import LINK_SCRIPT_OF_MODULES
from kernsmith.kernel.recipe import Recipe
from kernsmith.kernel.rust_code import rust_variables

# In kbuild's output: where the counters of a kernel lie that has some.
COUNTERS_SCRIPT = "counters.lds"

# What makes two builds of one variant equal: nothing of this machine and this moment enters.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    "KBUILD_BUILD_USER": "kernsmith",
    "KBUILD_BUILD_HOST": "kernsmith",
    "KBUILD_BUILD_VERSION": "1",
    "SOURCE_DATE_EPOCH": "1767225600",
    "LC_ALL": "C",
    "TZ": "UTC",
}

# Headers that kbuild makes by awk have their lines in the order of its arrays, which is another one
# in every awk; and where `awk` has become another program since a kernel was built, its package
# would compile all of it again. Debian has this one always.
_AWK = "mawk"

_OBEYED = (
    "ARCH", "BINDGEN_", "CROSS_COMPILE", "GNUMAKEFLAGS", "KAFLAGS", "KBUILD_", "KCFLAGS",
    "KCONFIG_", "KCPPFLAGS", "KRUSTFLAGS", "LIBCLANG_", "LLVM", "RUST_LIB_SRC", "SUBARCH",
)  # fmt: skip


def make_command(recipe: Recipe, output: Path, *arguments: str) -> list[str]:
    """The `make` command line of a build, with everything that the variant asks for."""
    variables = dict(recipe.toolchain.make_variables)
    variables["HOSTCC"] = through_cache(output.parent, recipe.toolchain.host_compiler)
    variables["CC"] = through_cache(output.parent, variables["CC"])
    here = [f"-ffile-prefix-map={output}=.", f"-ffile-prefix-map={recipe.source.path}/="]
    variables["KCFLAGS"] = " ".join([*here, *recipe.code_flags])
    variables["KAFLAGS"] = " ".join(here)
    linker = [recipe.toolchain.linker.program]
    if recipe.variant.links:
        linker = [through_cache(output.parent, WORD), *linker]
    if recipe.link_flags or recipe.variant.links:
        variables["LD"] = " ".join([*linker, *recipe.link_flags])
    variables |= recipe.variables
    if rust := recipe.rust:
        # rustc starts the host's compiler to link, and takes one word only.
        variables["HOSTCC"] = recipe.toolchain.host_compiler
        flags, tree = recipe.code_flags, recipe.source.path
        variables |= rust_variables(rust, recipe.requested, flags, output, tree)
    if counters := recipe.instrumentation:
        variables |= {**dict(counters.variables), LINKED: COUNTERS_SCRIPT}
    if recipe.groups_modules:
        variables["LDFLAGS_MODULE"] = f"-T {LINK_SCRIPT_OF_MODULES}"
    variables["ARCH"] = recipe.arch.kbuild
    if shutil.which(_AWK):
        variables["AWK"] = _AWK
    pairs = [f"{name}={value}" for name, value in variables.items()]
    return ["make", "-C", str(recipe.source.path), f"O={output}", *pairs, *arguments]


def build_environment(compilers: str, *, alone: bool = False) -> dict[str, str | None]:
    """Environment of kbuild: reproducible, with kernsmith's own ccache.

    compilers, alone: see `cache_environment`.

    Variables of the user's that kbuild would obey are removed: they are not in a kernel's key.
    """
    return {
        **{name: None for name in os.environ if name.startswith(_OBEYED)},
        **REPRODUCIBLE,
        "LOCALVERSION": "",
        **cache_environment(compilers, alone=alone),
    }
