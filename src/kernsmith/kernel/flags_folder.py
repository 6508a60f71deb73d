# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder with the profile and the flags of a kernel, for who builds kernels by other means.

It names nothing by where it is here: a distribution puts it beside its PKGBUILD, or to
/etc/portage, and takes the profile and the flags alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.files import copy_file, write_text
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.config import render_config
from kernsmith.kernel.flags import BuildFlags, build_flags

README = "README.md"
CONFIG, SHELL, MAKE_CONF, PATCH = "kernsmith.config", "flags.sh", "make.conf", "sections.patch"
_FOLDER = "KERNSMITH_FOLDER"
_EXPANDED = f'"${_FOLDER}"'
# What kbuild's makefiles and the shells that they call take apart.
_UNFIT = r"""[[:space:]\'\"\\\$\`\;\&\|\<\>\(\)\#]"""
_TITLE = "# A profile and flags for Linux "
_PROFILE = re.compile(r"^\| `([^`/]+)` \| `", re.MULTILINE)


def write_flags(kernel: Kernel, folder: Path) -> list[Path]:
    """Write a kernel's profile and flags into a folder; returns the files.

    folder: absent, empty, or with an earlier export, which is replaced.

    Raises:
        UserError: the kernel was made without any profile and flag, or in a way that none tell; a
            profile of it is gone; or the folder has something else in it.
    """
    flags = build_flags(kernel)
    if not flags.files and not kernel.provenance["variant"]["flags"]:
        raise UserError(
            f"the kernel {kernel.key[:8]} was built without a profile and without flags: there is "
            "nothing to export"
        )
    texts = {
        README: _readme(kernel, flags),
        CONFIG: render_config(flags.options),
        SHELL: _shell(flags),
        MAKE_CONF: _make_conf(flags.variables),
    }
    if patch := kernel.provenance.get("patch"):
        texts[PATCH] = patch
    _clear(folder, flags.files)
    for file in flags.files:
        copy_file(file, folder / file.name)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in (*texts, *(file.name for file in flags.files))]


def _clear(folder: Path, read: Sequence[Path]) -> None:
    """The files of an earlier export go; all that has other files in it is left alone."""
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    own = _exported(folder / README) if there else set()
    if there - own or any((folder / name).is_dir() for name in there):
        raise UserError(f"{folder} has other files in it: give an empty folder, or a new one")
    if any(folder.resolve() == file.parent.resolve() for file in read):
        raise UserError(f"{folder} has the kernel's own profiles in it: give another folder")
    for name in there:
        (folder / name).unlink()


def _exported(readme: Path) -> set[str]:
    """The names of an export's files, as its README has them; none where it is no export."""
    try:
        text = readme.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return set()
    if not text.startswith(_TITLE):
        return set()
    return {README, CONFIG, SHELL, MAKE_CONF, PATCH, *_PROFILE.findall(text)}


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
        f'{_FOLDER}=$(CDPATH= cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")" && pwd)',
        f"case ${_FOLDER} in *{_UNFIT}*)",
        f'    echo "kbuild cannot take files from ${_FOLDER}: its path has blanks or quotes" >&2',
        "    return 2 2>/dev/null || exit 2 ;;",
        "esac",
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
{_TITLE}{{version}}

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
