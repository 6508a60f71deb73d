# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own workload: a TOML file, and a static program beside it that runs in the guest, or a
program of a root file system that it names.

Nothing of it is executed on the host, and nothing is read but what lies in the file's folder.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from kernsmith.errors import UserError
from kernsmith.foreign import read_toml
from kernsmith.guest.beside import Beside
from kernsmith.guest.elf import program_kind
from kernsmith.guest.initramfs import Member, build_initramfs, kept_initramfs, read_program
from kernsmith.guest.own_metric import MOST_METRICS, MetricTable, check_names, told
from kernsmith.guest.source_parts import FOLDER as SOURCE_FOLDER
from kernsmith.guest.source_parts import SourceParts
from kernsmith.guest.suite import Operations, Unit, Vcpus
from kernsmith.guest.systemd import (
    SYSTEMCTL,
    SYSTEMD_NEEDS,
    systemd_layer,
    systemd_program,
)
from kernsmith.guest.workloads import Progress, Workload
from kernsmith.paths import shipped
from kernsmith.root import (
    DEFAULT_COMPONENTS,
    RootImage,
    check_component,
    check_package,
    debian_root,
    known_root,
    root_of,
)

SUFFIX = ".toml"
"""What a word for a workload ends with that is a file."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SYMBOL = re.compile(r"CONFIG_[A-Z0-9_]+")
_FOLDER = "workload"
_MOST_WORDS = 255
# In less, a kernel and its archive of files may find no room.
_LEAST_MIB = 256
# Of a boot with a root file system: on a distribution's kernel, beside others, servers and systemd
# have taken more than three hundred.
_ROOT_SECONDS = 900.0


class _Check(BaseModel):
    """[check]: how to know that the program did its work."""

    model_config = ConfigDict(extra="forbid")

    status: int = Field(0, ge=0, le=255)
    output: str = ""


class _Root(BaseModel):
    """[root]: the root file system that the program runs in.

    packages: Debian's, beside the essential ones. image: a folder or an image of the user's, below
        the folder of this file. One of the two.
    components: the parts of Debian's archive that the packages are of.
    init: process 1. `small`: kernsmith's own, with the workload and nothing else; `systemd`: the
        root's own, with all that its packages have enabled.
    """

    model_config = ConfigDict(extra="forbid")

    packages: list[str] | None = Field(None, max_length=_MOST_WORDS)
    components: list[str] = Field(list(DEFAULT_COMPONENTS), min_length=1)
    image: str = ""
    init: Literal["small", "systemd"] = "small"

    @field_validator("packages")
    @classmethod
    def _named(cls, packages: list[str] | None) -> list[str] | None:
        for name in packages or ():
            check_package(name)
        return packages

    @field_validator("components")
    @classmethod
    def _of_the_archive(cls, components: list[str]) -> list[str]:
        for name in components:
            check_component(name)
        return components

    @model_validator(mode="after")
    def _one(self) -> _Root:
        if (self.packages is None) == (not self.image):
            raise ValueError("it needs packages or an image, one of the two")
        if self.image and "components" in self.model_fields_set:
            raise ValueError("components are of packages, and an image has none")
        return self


class OwnWorkload(BaseModel):
    """The file.

    name: what tables call it. description: one sentence.
    program: a static ELF file, or with [root] a program there (`sort`, `/usr/bin/sort`) or any that
        lies here (`./mine`); arguments: what it is called with. files: what lies beside it in the
        guest, files and folders. All are paths below the folder of this file; the program starts in
        the folder `/workload`, where all of them lie by the same names.
    set_up: a program with its arguments that runs once before, in the same folder.
    rounds, warmup: how often it runs in the region of interest, and before.
    operations, unit: what a round is in numbers, for figures of one operation.
    needs: kernel config symbols (`CONFIG_X`) without which it cannot run.
    check: exit status, and a file with what it must print; without that, output is not checked.
    root: the root file system; without it the guest has nothing but the program and its files.
    source: parts of a kernel's source, which lie in the folder `source` beside the files.
    vcpus: how many processors the guest has that it runs in; memory: how many MiB, beside its root;
        0: 512, with a root 1024.
    time_limit: seconds that a boot with it may take in the `tcg` machine, where no study says
        otherwise; 0: 300, with a root 900.
    metrics: figures of its own by their names, and their units, or all that there is to say of
        each. Its program writes them, as lines NAME=NUMBER, to the file that KERNSMITH_METRICS
        names (guest/own/figures.h).
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str = ""
    program: str = Field(min_length=1)
    arguments: list[str] = Field(default_factory=list, max_length=_MOST_WORDS)
    set_up: list[str] = Field(default_factory=list, max_length=_MOST_WORDS)
    files: list[str] = Field(default_factory=list)
    rounds: int = Field(10, ge=1, le=1_000_000)
    warmup: int = Field(1, ge=0, le=1_000_000)
    operations: Operations = 1
    unit: Unit = "round"
    needs: list[str] = Field(default_factory=list)
    check: _Check = Field(default_factory=lambda: _Check.model_validate({}))
    root: _Root | None = None
    source: SourceParts | None = None
    vcpus: Vcpus = 1
    memory: int = Field(0, ge=0, le=65_536)
    time_limit: float = Field(0.0, ge=0, le=86_400)
    metrics: dict[str, MetricTable] = Field(default_factory=dict, max_length=MOST_METRICS)

    @field_validator("metrics")
    @classmethod
    def _own_names(cls, metrics: dict[str, MetricTable]) -> dict[str, MetricTable]:
        check_names(metrics)
        return metrics

    @property
    def seconds(self) -> float:
        """The time limit of a boot; 0: as of any other."""
        return self.time_limit or (_ROOT_SECONDS if self.root else 0.0)

    @field_validator("memory")
    @classmethod
    def _enough(cls, mib: int) -> int:
        if 0 < mib < _LEAST_MIB:
            raise ValueError(f"a guest has {_LEAST_MIB} MiB of memory or more")
        return mib

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or len(name) > 40:
            raise ValueError("a name is small letters and digits, with single - between")
        return name

    @field_validator("description", "program", "unit")
    @classmethod
    def _printed(cls, text: str) -> str:
        text = " ".join(text.split())
        if not text.isprintable():
            raise ValueError("it has letters that cannot be printed")
        return text

    @field_validator("arguments", "set_up")
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


def root_program() -> Path:
    """Where the build puts what lays a root file system below a workload."""
    return shipped("build", "guest", "kernsmith-root")


def shipped_files(word: str) -> tuple[Path, ...]:
    """The files of the workloads that come with kernsmith as files: by a name or a set's name.

    Each set is a folder below `workloads`; an empty word means all of them.
    """
    found = sorted(shipped("workloads").glob("*/*.toml"))
    return tuple(path for path in found if word in ("", path.stem, path.parent.name))


def described(path: Path) -> Workload:
    """A workload as far as its file tells: it cannot run, for no root is looked for."""
    said = parse_own_workload(path)
    sets = (path.parent.name,) if path in shipped_files("") else ()
    return Workload(
        said.name, sets, said.description, said.rounds, said.warmup, tuple(said.needs), str(path),
        operations=said.operations, unit=said.unit, vcpus=said.vcpus,
        memory=said.memory, metrics=told(said.metrics), time_limit=said.seconds,
    )  # fmt: skip


def lacks_root(path: Path) -> bool:
    """Whether a workload asks for packages of which no root has been made yet, or for a source that
    has not been fetched."""
    said = parse_own_workload(path)
    if said.source is not None and not said.source.fetched:
        return True
    root = said.root
    if root is None or root.packages is None:
        return False
    return known_root(root.packages, root.components) is None


def parse_own_workload(path: Path) -> OwnWorkload:
    """What a file says; nothing that it names is looked at.

    Raises:
        UserError: it cannot be read, is no TOML, or a key or value is not allowed.
    """
    table = read_toml(path, "the workload")
    try:
        return OwnWorkload.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        tables: dict[str, type[BaseModel]] = {
            "check": _Check, "root": _Root, "source": SourceParts
        }  # fmt: skip
        allowed = ", ".join(tables.get(str(first["loc"][0]), OwnWorkload).model_fields)
        why = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            why = f"there is no such key: allowed are {allowed}"
        raise UserError(f"{path}: {key}: {why}") from None


def read_own_workload(
    path: Path, root: Path | None = None, progress: Progress | None = None
) -> Workload:
    """A user's workload, with the initramfs that it runs in; equal content, equal initramfs.

    root: a folder or an image in place of the root that the file asks for.
    progress: called with what is being done, where a root must be made.

    Raises:
        UserError: see `parse_own_workload`; or what it names is not there, lies elsewhere, or
            cannot run in the guest; or its root cannot be had.
    """
    path = path.absolute()
    said = parse_own_workload(path)
    beside = Beside(path)
    image = _root_image(path, said, beside, root, progress) if said.root else None
    program = said.program if image is None else ""
    if image is not None and said.program.startswith("./"):
        program = str(Path(said.program))
    names = [*([program] if program else []), *said.files]
    members = _members(beside, path, names, program)
    if program and image is None:
        name = str(Path(program))
        content = next(each.content for each in members if each.name == f"{_FOLDER}/{name}")
        _check_static(path, name, content or b"")
    if said.source:
        members += said.source.members(path, _FOLDER, progress)
    words = [f"./{program}" if program else said.program, *said.arguments]
    members.append(Member(f"{_FOLDER}/words", _with_zeros(words)))
    if said.set_up:
        members.append(Member(f"{_FOLDER}/set-up", _with_zeros(said.set_up)))
    members.append(Member(f"{_FOLDER}/status", str(said.check.status).encode()))
    if said.check.output:
        expected = beside.read(said.check.output, "check.output")
        members.append(Member(f"{_FOLDER}/output", expected))
    if said.metrics:
        members.append(Member(f"{_FOLDER}/metrics", _with_zeros(list(said.metrics))))
    systemd = said.root is not None and said.root.init == "systemd"
    first = (*(image.needs if image else ()), *(SYSTEMD_NEEDS if systemd else ()))
    needs = dict.fromkeys((*said.needs, *first))
    archive = _initramfs(members, image, systemd=systemd)
    return Workload(
        said.name, (), said.description or f"{said.program} of {path.name}", said.rounds,
        said.warmup, tuple(needs), str(path),
        kept_initramfs(archive, said.name), image.path if image else None,
        said.operations, said.unit, program=own_program().name, vcpus=said.vcpus,
        memory=said.memory, metrics=told(said.metrics), first=first, time_limit=said.seconds,
    )  # fmt: skip


def _root_image(
    path: Path,
    said: OwnWorkload,
    beside: Beside,
    root: Path | None,
    progress: Progress | None,
) -> RootImage:
    """The root file system of a workload, which has its programs as far as that is known."""
    assert said.root is not None
    if root is not None:
        image = root_of(root)
    elif said.root.packages is not None:
        image = debian_root(said.root.packages, progress, said.root.components)
    else:
        image = root_of(beside.find(said.root.image, "root.image"))
    for key, word in (("program", said.program), *(("set_up", w) for w in said.set_up[:1])):
        if not word.startswith("./") and not image.has(word):
            raise UserError(f"{path}: {key}: the root has no program {word!r}")
    if said.root.init == "systemd" and not image.has(SYSTEMCTL):
        raise UserError(
            f"{path}: root.init: the root has no systemd: name it among root.packages, or leave "
            "init out"
        )
    return image


def _initramfs(members: list[Member], image: RootImage | None, *, systemd: bool) -> bytes:
    """What the guest is booted with; with a root, of what content that is, too."""
    if image is None:
        return build_initramfs(own_program(), members)
    own = Member("root/init", read_program(own_program()), executable=True)
    below = [
        Member("root"),
        *([] if systemd else [own]),
        Member("root/type", image.filesystem.encode()),
        Member("root/digest", image.digest.encode()),
        *(systemd_layer() if systemd else []),
    ]
    return build_initramfs(systemd_program() if systemd else root_program(), [*below, *members])


def _with_zeros(words: list[str]) -> bytes:
    return "".join(f"{word}\0" for word in words).encode()


def _members(beside: Beside, path: Path, names: list[str], program: str) -> list[Member]:
    """Files and folders as the guest has them: each once, sorted by name, with their mode.

    program: the one that is executed, if it is among them; the first name then.
    """
    found: dict[str, str] = {}
    for number, name in enumerate(names):
        key = "program" if program and number == 0 else f"files.{number - bool(program)}"
        for inside in beside.below(str(Path(name)), key):
            found |= {str(part): key for part in Path(inside).parents if part != Path()}
            found[inside] = key
    clash = {"words", "set-up", "status", "output", "metrics", SOURCE_FOLDER} & set(found)
    if clash:
        raise UserError(f"{path}: files: {clash.pop()!r} is a name that the guest needs itself")
    members = [Member(_FOLDER)]
    for name, key in sorted(found.items()):
        each = beside.find(name, key)
        content = None if each.is_dir() else beside.read(name, key)
        executable = bool(each.stat().st_mode & stat.S_IXUSR) or name == program
        members.append(Member(f"{_FOLDER}/{name}", content, executable))
    return members


def _check_static(path: Path, name: str, program: bytes) -> None:
    """That a program starts in a guest that has nothing else."""
    kind = program_kind(program)
    told = f"{path}: program: {name!r}"
    if kind == "foreign":
        raise UserError(f"{told} is no program for x86-64: the guest runs ELF files and no scripts")
    if kind == "dynamic":
        raise UserError(
            f"{told} needs shared libraries, which the guest has none of: link it with -static, or "
            "give it a [root]"
        )
