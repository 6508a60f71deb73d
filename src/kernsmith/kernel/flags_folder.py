# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder with the profile and the flags of a kernel, for who builds kernels by other means.

It names nothing by where it is here: a distribution puts it beside its PKGBUILD, or to
/etc/portage, and takes the profile and the flags alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.files import copy_file, write_text
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.config import render_config
from kernsmith.kernel.flags import BuildFlags, build_flags

CONFIG, SHELL, MAKE_CONF, PATCH = "kernsmith.config", "flags.sh", "make.conf", "sections.patch"
_FOLDER = "KERNSMITH_FOLDER"
_EXPANDED = f'"${_FOLDER}"'


def write_flags(kernel: Kernel, folder: Path) -> list[Path]:
    """Write a kernel's profile and flags into a folder; returns the files.

    Raises:
        UserError: the kernel was made without any profile and flag, or in a way that none tell.
    """
    flags = build_flags(kernel)
    if not flags.files and not kernel.provenance["variant"]["flags"]:
        raise UserError(
            f"the kernel {kernel.key[:8]} was built without a profile and without flags: there is "
            "nothing to export"
        )
    texts = {
        "README.md": _readme(kernel, flags),
        CONFIG: render_config(flags.options),
        SHELL: _shell(flags),
        MAKE_CONF: _make_conf(flags.variables),
    }
    if patch := kernel.provenance.get("patch"):
        texts[PATCH] = patch
    for file in flags.files:
        copy_file(file, folder / file.name)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in (*texts, *(file.name for file in flags.files))]


def _shell(flags: BuildFlags) -> str:
    """Arrays of bash, which PKGBUILDs and ebuilds are written in."""
    words = []
    for name, value in flags.variables.items():
        # What is quoted for the shell, but the folder, which it is to expand.
        parts = [shlex.quote(part) if part else "" for part in value.split("{folder}")]
        words.append(f"    {name}={_EXPANDED.join(parts)}")
    symbols = [f"    {shlex.quote(f'{name}={value}')}" for name, value in flags.options.items()]
    lines = [
        "# For bash: source it, then: make \"${KERNSMITH_MAKE[@]}\" …",
        f'{_FOLDER}=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)',
        "KERNSMITH_MAKE=(", *words, ")",
        "KERNSMITH_CONFIG=(", *symbols, ")",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _make_conf(variables: Mapping[str, str]) -> str:
    """A file of Portage's (man 5 make.conf, package.env): environment of the ebuild."""
    lines = [
        "# For /etc/portage/env, named in /etc/portage/package.env. Where this folder is:",
        f'{_FOLDER}="/etc/portage/kernsmith"',
    ]
    for name, value in variables.items():
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
        lines.append(f'{name}="{quoted.replace("{folder}", f"${{{_FOLDER}}}")}"')
    return "\n".join(lines) + "\n"


def _readme(kernel: Kernel, flags: BuildFlags) -> str:
    provenance = kernel.provenance
    source, variant = provenance["source"], provenance["variant"]
    steps = [step["kind"] for step in variant["steps"]]
    if "reordered" in provenance:
        steps = [*(step for step in steps if step != "layout"), "layout"]
    files = [f"| `{file.name}` | `{file_digest(file)}` |" for file in flags.files]
    patch = (
        f"\nThe source's linker script must be patched first: `patch -p1 < {PATCH}`.\n"
        if provenance.get("patch")
        else ""
    )
    return _README.format(
        version=source["version"],
        key=kernel.key[:20],
        kernsmith=provenance["kernsmith"],
        steps=" + ".join(steps) or "no profile",
        compiler=provenance["compiler"],
        linker=provenance["linker"],
        name=source["name"],
        digest=source["digest"],
        files="\n".join(files) or "| (no profile) | |",
        patch=patch,
    )


_README = f"""\
# A profile and flags for Linux {{version}}

Of the kernel `{{key}}` that kernsmith {{kernsmith}} built: {{steps}}, by
{{compiler}} and {{linker}}.
They are for the same source ({{name}}, `{{digest}}`)
and a compiler of the same release. For another source, ask first how much of the profile still
fits: `kernsmith profile match`.

| file | SHA-256 |
| --- | --- |
{{files}}

`{CONFIG}` has the config symbols that go with them, `{SHELL}` the variables of make for
bash, `{MAKE_CONF}` the same for Portage.
Objects in which nothing ran take the profile here, too; kernsmith compiles them without it. So the
kernel is not the same byte for byte.
{{patch}}
## By hand

    . ./{SHELL}
    scripts/kconfig/merge_config.sh -m .config "$KERNSMITH_FOLDER/{CONFIG}"
    make "${{{{KERNSMITH_MAKE[@]}}}}" olddefconfig
    make "${{{{KERNSMITH_MAKE[@]}}}}" -j"$(nproc)"

## In a PKGBUILD

Put this folder beside it as `kernsmith/`. In `prepare()`, behind the config:

    . "$startdir/kernsmith/{SHELL}"
    scripts/kconfig/merge_config.sh -m .config "$KERNSMITH_FOLDER/{CONFIG}"
    make "${{{{KERNSMITH_MAKE[@]}}}}" olddefconfig

and in `build()`, behind the first of these lines, `make "${{{{KERNSMITH_MAKE[@]}}}}" all`.

## In Gentoo

Copy this folder to `/etc/portage/kernsmith`, `{MAKE_CONF}` to `/etc/portage/env/kernsmith.conf`,
and `{CONFIG}` to `/etc/kernel/config.d/`, which the kernel's ebuilds
(`sys-kernel/vanilla-kernel`) read. Then, in `/etc/portage/package.env`:

    sys-kernel/vanilla-kernel kernsmith.conf
"""
