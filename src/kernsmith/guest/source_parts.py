# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of a kernel's source that a workload works on: files of the guest, by their paths there.

Only Debian's sources can be named: a workload's file may be a stranger's, and nothing else of the
host is read for it.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.guest.beside import MOST_BYTES
from kernsmith.guest.initramfs import Member
from kernsmith.guest.workloads import Progress
from kernsmith.kernel.source import is_kept, resolve_source

FOLDER = "source"
"""Where the parts lie, below the guest's folder of the workload."""

_WORD = re.compile(r"debian:\d+\.\d+", re.ASCII)


class SourceParts(BaseModel):
    """[source]: what a workload needs of a kernel's source.

    use: `debian:VERSION`. parts: folders with all that is in them, files, and patterns in the last
        part of a path (`include/linux/*.h`).
    """

    model_config = ConfigDict(extra="forbid")

    use: str
    parts: list[str] = Field(min_length=1, max_length=100)

    @field_validator("use")
    @classmethod
    def _debians(cls, use: str) -> str:
        if not _WORD.fullmatch(use):
            raise ValueError(f"{use!r} is no source of Debian's (debian:VERSION)")
        return use

    @field_validator("parts")
    @classmethod
    def _below(cls, parts: list[str]) -> list[str]:
        for part in parts:
            path = Path(part)
            outside = path.is_absolute() or ".." in path.parts or not path.parts
            odd = "\0" in part or "**" in part or "*" in str(path.parent)
            if outside or odd:
                raise ValueError(f"{part!r} is no path below a source")
        return parts

    @property
    def fetched(self) -> bool:
        """Whether the source is there already."""
        return is_kept(self.use, paths.sources())

    def members(self, file: Path, folder: str, progress: Progress | None) -> list[Member]:
        """The parts for the guest's archive, in a folder of it; fetched where they are not there.

        file: the workload's, for messages.

        Raises:
            UserError: Debian has no such source, the source no such part, or there is too much.
        """
        tree = resolve_source(self.use, paths.sources(), progress=progress).path
        chosen: set[Path] = set()
        for part in self.parts:
            found = list(tree.glob(part))
            if not found:
                raise UserError(f"{file}: source.parts: the source {self.use} has no {part!r}")
            for each in found:
                chosen |= {each, *each.rglob("*")} if each.is_dir() else {each}
        above = {parent for each in chosen for parent in each.relative_to(tree).parents}
        chosen |= {tree / parent for parent in above if parent != Path()}
        if sum(each.stat().st_size for each in chosen if each.is_file()) > MOST_BYTES:
            raise UserError(f"{file}: source.parts: they are more than {MOST_BYTES >> 20} MiB")
        members = [Member(f"{folder}/{FOLDER}")]
        for each in sorted(chosen):
            name = f"{folder}/{FOLDER}/{each.relative_to(tree)}"
            if each.is_dir():
                members.append(Member(name))
            else:
                executable = bool(each.stat().st_mode & stat.S_IXUSR)
                members.append(Member(name, each.read_bytes(), executable))
        return members
