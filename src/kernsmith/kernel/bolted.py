# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that BOLT has rewritten: an artifact like any other.

kbuild links it by its own rules, in a copy of its output in which `scripts/link-vmlinux.sh` is a
script that calls the tree's and then llvm-bolt, as LLVM's bolt/docs/OptimizingLinux.md has it. So
all that follows the link is made of the rewritten image: boot image, packages.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, UserError
from kernsmith.files import copy_file, locked, write_text
from kernsmith.kernel import bolt
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel, file_digest, load_kernel
from kernsmith.kernel.build import place_images, read_build_id
from kernsmith.kernel.kbuild import command_in, copy_output, link_again
from kernsmith.kernel.link import LINK_SCRIPT, LinkFailed
from kernsmith.kernel.modules import carry_modules
from kernsmith.kernel.provenance import write_provenance
from kernsmith.kernel.symbols import read_system_map
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.kernel.toolchain.content import linker_content
from kernsmith.study.variant import digest_of

# Counts up when kernels that were made before are not what this module makes.
_FORMAT = 1
_LIBRARIES = "KBUILD_VMLINUX_LIBS"
_RESERVE = "scripts/bolt-reserve"
_REWRITE = """#!/bin/sh
# kbuild finds this before the kernel tree's script of that name.
export KBUILD_VMLINUX_LIBS="$KBUILD_VMLINUX_LIBS "{reserve}
sh "$srctree/{script}" "$@" || exit
[ "$1" != clean ] || exit 0
image=${{4:-vmlinux}}
mv "$image" unrewritten.vmlinux
exec {command}
"""


def bolted(kernel: Kernel, profile: Path, program: str) -> Kernel:
    """The kernel rewritten with a profile (`.fdata`) by an llvm-bolt, in a folder beside it, named
    by its own content address.

    Raises:
        LinkFailed: make or llvm-bolt ended with an error.
    """
    key, folder = _place(kernel, profile, program)
    if found := load_kernel(folder):
        return found
    with locked(folder / "lock"):
        if found := load_kernel(folder):
            return found
        shutil.rmtree(folder / "out", ignore_errors=True)
        output = copy_output(kernel, folder)
        copy_file(profile, folder / bolt.PROFILE)
        readelf = find_toolchain(kernel.provenance["variant"]["compiler"]).tool("llvm-readelf")
        skipped = _skipped(kernel, readelf)
        write_text(folder / bolt.SKIPPED, "".join(f"{name}\n" for name in skipped))
        reserve = _reserve(kernel, output)
        _link(kernel, folder, program, reserve)
        place_images(output, folder, kernel.arch)
        _note_link(kernel, folder, reserve)
        carry_modules(kernel, folder)
        provenance = kernel.provenance | {
            "key": key,
            "command": command_in(kernel, folder),
            "bolted": {
                "kernel": kernel.key,
                "program": program,
                "options": list(bolt.OPTIONS),
                "profile_sha256": file_digest(profile),
            },
            "vmlinux_sha256": file_digest(folder / "vmlinux"),
            "build_id": read_build_id(readelf, folder / "vmlinux"),
        }
        images = (Path(kernel.arch.booted).name, kernel.arch.image)
        provenance = write_provenance(folder, provenance, *images)
    return Kernel(key, folder, provenance)


def refuse_bolted(kernel: Kernel) -> None:
    """That a kernel is as it was linked: its layouts can be replayed, and it can be linked in one.

    Raises:
        UserError: BOLT has rewritten it.
    """
    if base := kernel.provenance.get("bolted"):
        raise UserError(
            f"BOLT has rewritten the kernel {kernel.key[:FOLDER_LETTERS]}, and where its layouts "
            f"have cold code nobody knows: take the one below it, {base['kernel'][:FOLDER_LETTERS]}"
        )


def find_bolted(kernel: Kernel, profile: Path, program: str) -> Kernel | None:
    """The rewritten kernel, if it was made before."""
    return load_kernel(_place(kernel, profile, program)[1])


def _place(kernel: Kernel, profile: Path, program: str) -> tuple[str, Path]:
    """The key of a rewritten kernel, and its folder."""
    asked = {
        "kernel": kernel.key,
        "profile": file_digest(profile),
        "program": linker_content(program),
        "options": list(bolt.OPTIONS),
        "left alone": list(bolt.ENTRIES),
        "reserve": bolt.RESERVE,
        "format": _FORMAT,
    }
    key = digest_of(asked)
    return key, kernel.folder.with_name(key[:FOLDER_LETTERS])


def _skipped(kernel: Kernel, readelf: str) -> list[str]:
    """What llvm-bolt is to leave alone, as patterns of names: local ones have a number behind."""
    patched = bolt.patched_functions(readelf, kernel.vmlinux, read_system_map(kernel.system_map))
    return [f"{re.escape(name)}(/.*)?" for name in (*bolt.ENTRIES, *patched)]


def _reserve(kernel: Kernel, output: Path) -> Path:
    """Compile the object with the reserve of addresses."""
    source = output / f"{_RESERVE}.S"
    write_text(source, bolt.RESERVE)
    compiler = find_toolchain(kernel.provenance["variant"]["compiler"]).compiler.program
    compiled = output / f"{_RESERVE}.o"
    process.run([compiler, "-c", "-o", compiled, source], log=None, timeout=60)
    return compiled


def _note_link(kernel: Kernel, folder: Path, reserve: Path) -> None:
    """How layouts of the kernel are linked: with the reserve, too."""
    entries = (kernel.folder / "link.env").read_text().split("\0")
    with_reserve = [
        f"{entry} {reserve}" if entry.startswith(f"{_LIBRARIES}=") else entry for entry in entries
    ]
    if with_reserve == entries:
        raise LinkFailed(
            f"{kernel.provenance['source']['name']} links in a way that has no place for BOLT's "
            "reserve of addresses"
        )
    write_text(folder / "link.env", "\0".join(with_reserve))


def _link(kernel: Kernel, folder: Path, program: str, reserve: Path) -> None:
    """Have kbuild link `vmlinux` anew, rewrite it, and make what it makes of it."""
    command = bolt.words(program, Path("unrewritten.vmlinux"), Path("$image"), folder)
    quoted = " ".join('"$image"' if word == "$image" else shlex.quote(word) for word in command)
    script = _REWRITE.format(script=LINK_SCRIPT, reserve=shlex.quote(str(reserve)), command=quoted)
    try:
        link_again(kernel, folder, script)
    except ProcessFailed as error:
        raise LinkFailed(f"the kernel is not rewritten: {error}").because_of(error) from error
