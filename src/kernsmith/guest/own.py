# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own workload: a TOML file, and a static program beside it that runs in the guest.

Nothing of it is executed on the host, and nothing is read but what lies in the file's folder.
"""

from __future__ import annotations

import re
import stat
import struct
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kernsmith.errors import UserError
from kernsmith.guest.initramfs import Member, build_initramfs, kept_initramfs
from kernsmith.guest.workloads import Workload
from kernsmith.paths import shipped

SUFFIX = ".toml"
"""What a word for a workload ends with that is a file."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SYMBOL = re.compile(r"CONFIG_[A-Z0-9_]+")
_FOLDER = "workload"
_MOST_BYTES = 256 << 20
_MOST_WORDS = 255
_X86_64, _INTERPRETER = 62, 3


class _Check(BaseModel):
    """[check]: how to know that the program did its work."""

    model_config = ConfigDict(extra="forbid")

    status: int = Field(0, ge=0, le=255)
    output: str = ""


class OwnWorkload(BaseModel):
    """The file.

    name: what tables call it. description: one sentence.
    program: a static ELF file; arguments: what it is called with. files: what lies beside it in the
        guest, files and folders. All are paths below the folder of this file; the program starts in
        the folder `/workload`, where all of them lie by the same names.
    rounds, warmup: how often it runs in the region of interest, and before.
    needs: kernel config symbols (`CONFIG_X`) without which it cannot run.
    check: exit status, and a file with what it must print; without that, output is not checked.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str = ""
    program: str
    arguments: list[str] = Field(default_factory=list, max_length=_MOST_WORDS)
    files: list[str] = Field(default_factory=list)
    rounds: int = Field(10, ge=1, le=1_000_000)
    warmup: int = Field(1, ge=0, le=1_000_000)
    needs: list[str] = Field(default_factory=list)
    check: _Check = Field(default_factory=lambda: _Check.model_validate({}))

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or len(name) > 40:
            raise ValueError("a name is small letters and digits, with single - between")
        return name

    @field_validator("arguments")
    @classmethod
    def _whole(cls, words: list[str]) -> list[str]:
        if any("\0" in word for word in words):
            raise ValueError("a word cannot have a zero byte in it")
        return words

    @field_validator("needs")
    @classmethod
    def _symbols(cls, needs: list[str]) -> list[str]:
        for need in needs:
            if not _SYMBOL.fullmatch(need):
                raise ValueError(f"{need!r} is no config symbol (CONFIG_X)")
        return needs


def own_program() -> Path:
    """Where the build puts the guest's first process for own workloads."""
    return shipped("build", "guest", "kernsmith-own")


def parse_own_workload(path: Path) -> OwnWorkload:
    """What a file says; nothing that it names is looked at.

    Raises:
        UserError: it cannot be read, is no TOML, or a key or value is not allowed.
    """
    try:
        table = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise UserError(f"cannot read the workload {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from None
    try:
        return OwnWorkload.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        allowed = ", ".join(OwnWorkload.model_fields)
        why = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            why = f"there is no such key: allowed are {allowed}"
        raise UserError(f"{path}: {key}: {why}") from None


def read_own_workload(path: Path) -> Workload:
    """A user's workload, with the initramfs that it runs in; equal content, equal initramfs.

    Raises:
        UserError: see `parse_own_workload`; or what it names is not there, lies elsewhere, or
            cannot run in the guest.
    """
    path = path.absolute()
    said = parse_own_workload(path)
    program = _beside(path, said.program, "program")
    _check_static(path, program)
    members = [*_members(path, [said.program, *said.files])]
    words = [f"./{said.program}", *said.arguments]
    members.append(Member(f"{_FOLDER}/words", "".join(f"{word}\0" for word in words).encode()))
    members.append(Member(f"{_FOLDER}/status", str(said.check.status).encode()))
    if said.check.output:
        expected = _beside(path, said.check.output, "check.output").read_bytes()
        members.append(Member(f"{_FOLDER}/output", expected))
    kept = kept_initramfs(build_initramfs(own_program(), tuple(members)), said.name)
    return Workload(
        said.name, (), said.description or f"{said.program} of {path.name}", said.rounds,
        said.warmup, tuple(said.needs), str(path), kept,
    )  # fmt: skip


def _beside(path: Path, name: str, key: str) -> Path:
    """A file below the folder of a workload's file, and no other."""
    folder = path.parent.resolve()
    found = (folder / name).resolve()
    if Path(name).is_absolute() or not found.is_relative_to(folder) or found == folder:
        raise UserError(f"{path}: {key}: {name!r} is not below the folder of the file")
    if not found.exists():
        raise UserError(f"{path}: {key}: there is no {name!r} beside the file")
    return found


def _members(path: Path, names: list[str]) -> list[Member]:
    """Files and folders as the guest has them: each once, sorted by name, with their mode."""
    folder = path.parent.resolve()
    found: dict[str, Path] = {}
    for number, name in enumerate(names):
        key = "program" if number == 0 else f"files.{number - 1}"
        top = _beside(path, name, key)
        for each in (top, *sorted(top.rglob("*"))) if top.is_dir() else (top,):
            inside = each.relative_to(folder)
            _beside(path, str(inside), key)
            found |= {str(part): folder / part for part in inside.parents if part != Path()}
            found[str(inside)] = each
    clash = {"words", "status", "output"} & set(found)
    if clash:
        raise UserError(f"{path}: files: {clash.pop()!r} is a name that the guest needs itself")
    if sum(each.stat().st_size for each in found.values() if each.is_file()) > _MOST_BYTES:
        raise UserError(f"{path}: files: they are more than {_MOST_BYTES >> 20} MiB")
    members = [Member(_FOLDER)]
    for name, each in sorted(found.items()):
        content = None if each.is_dir() else each.read_bytes()
        executable = bool(each.stat().st_mode & stat.S_IXUSR) or name == names[0]
        members.append(Member(f"{_FOLDER}/{name}", content, executable))
    return members


def _check_static(path: Path, program: Path) -> None:
    """That a program starts in a guest that has nothing else: ELF64 for x86-64, no interpreter
    (System V ABI, "Program Header")."""
    content = program.read_bytes()
    told = f"{path}: program: {program.name!r}"
    try:
        magic, machine = content[:6], struct.unpack_from("<H", content, 18)[0]
        (table,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        kinds = [struct.unpack_from("<I", content, table + size * n)[0] for n in range(count)]
    except struct.error:
        magic, machine, kinds = b"", 0, []
    if magic != b"\x7fELF\x02\x01" or machine != _X86_64:
        raise UserError(f"{told} is no program for x86-64: the guest runs ELF files and no scripts")
    if _INTERPRETER in kinds:
        raise UserError(
            f"{told} needs shared libraries, which the guest has none of: link it with -static"
        )
