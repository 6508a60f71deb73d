# SPDX-License-Identifier: GPL-2.0-or-later
"""What a package says of the kernel in it: a note, and the files of its profile and its layout.

They lie beside the modules, in `/lib/modules/RELEASE/kernsmith`, whatever kind of package it is:
`note.json` of the running kernel is `/lib/modules/$(uname -r)/kernsmith/note.json`. Nothing in them
depends on where and when the kernel was built.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernsmith.errors import KernsmithError
from kernsmith.files import copy_file, write_text
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.flags import profile_files
from kernsmith.kernel.package_kind import Named

FOLDER = "kernsmith"
NOTE = "note.json"
FORMAT, VERSION = "kernsmith-package", 1

# What a provenance says of how a kernel came to be: the same wherever it is built.
_KEPT = (
    "kernsmith", "source", "variant", "compiler", "linker", "contents", "rust", "environment",
    "config_sha256", "patch", "backported", "profiles", "modules", "reordered", "bolted", "simd",
)  # fmt: skip
# As kbuild makes it of version and suffixes; it is part of paths and of what boot loaders are told.
_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_~-]*", re.ASCII)
_UTS_VERSION = re.compile(r'^#define UTS_VERSION "(.*)"$', re.MULTILINE)
_MARKED = 8


@dataclass(frozen=True)
class Note:
    """A package's note.

    kernel: its key. release, uname_v: what `uname -r` and `uname -v` say.
    image_sha256: of the boot image. provenance: what `provenance.json` of the kernel says.
    """

    kernel: str
    release: str
    uname_v: str
    build_id: str
    vmlinux_sha256: str
    image_sha256: str
    provenance: dict[str, Any]


def note_of(kernel: Kernel) -> Note:
    """The note about a built kernel."""
    provenance = kernel.provenance
    variant = dict(provenance["variant"])
    for name in ("compiler", "linker", "config"):
        variant[name] = Path(variant[name]).name
    variant.pop("source", None)  # a path, it may be; its digest is told
    steps = [{**step, "files": []} for step in variant.get("steps", ())]
    kept = {name: provenance[name] for name in _KEPT if name in provenance}
    return Note(
        kernel=kernel.key,
        release=kernel_release(kernel),
        uname_v=uts_version(kernel),
        build_id=kernel.build_id,
        vmlinux_sha256=provenance["vmlinux_sha256"],
        image_sha256=file_digest(kernel.bzimage),
        provenance=kept | {"variant": variant | {"steps": steps}},
    )


def write_note(kernel: Kernel, folder: Path) -> None:
    """Write the note into a folder, with the order of functions and the profiles beside it."""
    content = {"format": FORMAT, "version": VERSION, **asdict(note_of(kernel))}
    write_text(folder / NOTE, json.dumps(content, indent=1, sort_keys=True) + "\n")
    if kernel.order:
        copy_file(kernel.folder / "order", folder / "order")
    for path in profile_files(kernel):
        copy_file(path, folder / path.name)


def read_note(path: Path) -> Note:
    """The note in a file.

    Raises:
        KernsmithError: it is none, of another version, or of a kernel that no release is called as.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if (content.pop("format"), content.pop("version")) != (FORMAT, VERSION):
            raise ValueError
        note = Note(**content)
        if not _RELEASE.fullmatch(note.release):
            raise ValueError
        return note
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise KernsmithError(f"{path} is no note about a kernel") from None


def named(kernel: Kernel) -> Named:
    """What the name of the kernel's packages says."""
    mark = f"{FOLDER}.{kernel.key[:_MARKED]}"
    provenance = kernel.provenance
    written = provenance["environment"]["SOURCE_DATE_EPOCH"]
    return Named(kernel_release(kernel), provenance["source"]["version"], mark, written)


def kernel_release(kernel: Kernel) -> str:
    """What `uname -r` says on it."""
    return (kernel.output / "include/config/kernel.release").read_text(encoding="utf-8").strip()


def uts_version(kernel: Kernel) -> str:
    """What `uname -v` says on it."""
    for name in ("utsversion.h", "compile.h"):  # before Linux 6.1, the second
        path = kernel.output / "include/generated" / name
        if path.exists() and (found := _UTS_VERSION.search(path.read_text(encoding="utf-8"))):
            return found[1]
    raise KernsmithError(f"{kernel.output} does not say what uname -v is")
