# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian roots: packages with all that they depend on, installed by mmdebstrap.

The packages are those of one suite, whatever the system's own is, from the mirror that the system's
apt uses, checked by its archive keyring. Equal versions of equal packages give an equal image:
mmdebstrap takes logs, caches and ids away and gives what installation wrote one time stamp
(`SOURCE_DATE_EPOCH`); what hosts and random numbers leave besides, the hooks here take away.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import ProcessFailed, ProgramMissing, UserError
from kernsmith.files import locked, use, write_text
from kernsmith.kernel.apt import KEYRINGS, acquire_options, host_mirrors
from kernsmith.root.image import (
    FOLDERS,
    WRITTEN,
    Progress,
    RootImage,
    keep,
    pack,
    roots,
    unfinished,
)

SUITE = "trixie"
"""Debian's suite that the packages are of, on every host: a workload means the same everywhere."""
COMPONENTS = ("main", "contrib", "non-free", "non-free-firmware")
"""Parts of Debian's archive that packages may be of (Debian Policy, 2.2), in this order."""
DEFAULT_COMPONENTS = ("main",)
FORMAT = 1
"""Part of what a kept root is found by: changes with what is done here."""

_ROOT_SECONDS = 3600.0
# Debian Policy, 5.6.7: names of binary packages.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_NO_PACKAGE = re.compile(
    r"^E: (?:Unable to locate package (\S+)|Package '?([^' ]+)'? has no installation candidate)",
    re.MULTILINE,
)
_STATUS = "./var/lib/dpkg/status"
# What names the host, and what is drawn by chance when packages are installed.
_HOOK = """\
cd "$1" && echo guest > etc/hostname && printf '127.0.0.1 localhost guest\\n' > etc/hosts &&
rm -f etc/resolv.conf var/lib/systemd/random-seed var/lib/dpkg/*-old &&
rm -f etc/ssl/certs/ssl-cert-snakeoil.pem etc/ssl/private/ssl-cert-snakeoil.key &&
rm -rf var/lib/postgresql/*/main etc/postgresql/*/main &&
find var/log var/cache -type f -delete"""


def check_package(name: str) -> str:
    """The name of a package, which is passed to apt. Raises ValueError: it cannot be one."""
    if not _PACKAGE.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a Debian package")
    return name


def check_component(name: str) -> str:
    """The name of a part of Debian's archive. Raises ValueError: there is no such part."""
    if name not in COMPONENTS:
        raise ValueError(
            f"{name!r} is no component of Debian's archive: allowed are {', '.join(COMPONENTS)}"
        )
    return name


def debian_root(
    packages: Iterable[str],
    progress: Progress | None = None,
    components: Iterable[str] = DEFAULT_COMPONENTS,
) -> RootImage:
    """A root with Debian's essential packages and these, made now or found.

    progress: called with what is being done.
    components: the parts of the archive that packages are looked for in.

    Raises:
        UserError: there is no such package, no Debian mirror in the system's apt sources, or the
            mirror cannot be reached; a program that makes roots is not installed.
        ProcessFailed: a package could not be installed.
    """
    wanted = _wanted(packages, components)
    note = _note(wanted)
    with locked(note.with_suffix(".lock")):
        return _found(note) or _make(wanted, note, progress)


def known_root(
    packages: Iterable[str], components: Iterable[str] = DEFAULT_COMPONENTS
) -> RootImage | None:
    """The same where it has been made; nothing is fetched or installed."""
    return _found(_note(_wanted(packages, components)))


@dataclass(frozen=True)
class _Wanted:
    """What a root is made of: packages by name, components in the order of `COMPONENTS`."""

    packages: tuple[str, ...]
    components: tuple[str, ...]


def _wanted(packages: Iterable[str], components: Iterable[str]) -> _Wanted:
    named = {check_component(name) for name in components}
    return _Wanted(
        tuple(sorted({check_package(name) for name in packages})),
        tuple(name for name in COMPONENTS if name in named),
    )


def _note(wanted: _Wanted) -> Path:
    """What is known of a root with these packages, once there is one."""
    parts: list[object] = [FORMAT, SUITE, find_arch().target.debian, wanted.packages]
    if wanted.components != DEFAULT_COMPONENTS:
        parts.append(wanted.components)
    known = json.dumps(parts)
    return roots() / f"{SUITE}-{hashlib.sha256(known.encode()).hexdigest()[:20]}.json"


def _found(note: Path) -> RootImage | None:
    try:
        kept = json.loads(note.read_text(encoding="utf-8"))
        path = roots() / kept["digest"] / kept["name"]
        packages = tuple(kept["packages"].items())
        programs = frozenset(kept["programs"])
        kind = kept["filesystem"]
    except (OSError, ValueError, KeyError):
        return None
    if not path.exists():
        return None
    use(path.parent)
    return RootImage(path, kind, kept["digest"], programs, packages)


def _make(wanted: _Wanted, note: Path, progress: Progress | None) -> RootImage:
    for program in ("mmdebstrap", "sqfstar"):
        process.find(program)
    log = note.with_suffix(".log")
    with unfinished("archive") as archive, unfinished("image") as part:
        _install(wanted, archive, log, progress)
        if progress:
            progress("making the root's image", None)
        pack(archive, part, log.with_suffix(".image.log"))
        programs, versions = _described(archive)
        image = keep(part, "squashfs")
    kept = {
        "suite": SUITE, "components": list(wanted.components), "asked": list(wanted.packages),
        "filesystem": image.filesystem, "digest": image.digest, "name": image.path.name,
        "packages": versions, "programs": sorted(programs),
    }  # fmt: skip
    write_text(note, json.dumps(kept, indent=1) + "\n")
    found = _found(note)
    assert found is not None
    return found


def _install(wanted: _Wanted, archive: Path, log: Path, progress: Progress | None) -> None:
    mirror, _ = host_mirrors()
    if mirror is None:
        raise UserError(
            "no Debian mirror in this system's apt sources (/etc/apt/sources.list, "
            "/etc/apt/sources.list.d): its packages cannot be fetched; give a root of your own "
            "with --root"
        )
    keyring = next((file for file in KEYRINGS if file.exists()), None)
    command: list[str | Path] = [
        "mmdebstrap", "--variant=essential",
        f"--components={','.join(wanted.components)}", "--format=tar",
        f"--architectures={find_arch().target.debian}",
        *([f"--include={','.join(wanted.packages)}"] if wanted.packages else []),
        *([f"--keyring={keyring}"] if keyring else []),
        *(f"--aptopt={option}" for option in acquire_options()),
        f"--customize-hook={_HOOK}", SUITE, archive, mirror,
    ]  # fmt: skip

    def tell(line: str) -> None:
        if progress and (
            match := re.match(
                r"I: ((?:running apt|downloading|extracting|installing|creating).*)", line
            )
        ):
            progress(f"a Debian root: {match[1]}", None)

    try:
        process.run(
            command, log=log, timeout=_ROOT_SECONDS, on_line=tell, capture=False,
            env={"SOURCE_DATE_EPOCH": str(WRITTEN)},
        )  # fmt: skip
    except ProgramMissing:
        raise
    except ProcessFailed as failure:
        raise told_failure(failure, log, wanted.components) from None


def told_failure(
    failure: ProcessFailed, log: Path, components: Sequence[str] = DEFAULT_COMPONENTS
) -> Exception:
    """What went wrong in mmdebstrap, in one sentence where it is known; else the failure itself."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if missing := _NO_PACKAGE.search(text):
        return UserError(
            f"Debian's suite {SUITE} has no package {missing[1] or missing[2]!r} in "
            f"{', '.join(components)}"
        )
    if failed := re.search(r"^E: ((?:Failed to fetch|Some index files).*)$", text, re.MULTILINE):
        return UserError(f"Debian's packages cannot be fetched: {failed[1]} (log: {log})")
    return failure


def _described(archive: Path) -> tuple[set[str], dict[str, str]]:
    """Programs, and packages with their versions, of a root in a tar archive."""
    programs: set[str] = set()
    versions: dict[str, str] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name == _STATUS:
                file = tar.extractfile(member)
                assert file is not None
                versions = dict(_versions(file.read().decode()))
            runs = member.issym() or (member.isfile() and member.mode & 0o111)
            name = member.name.removeprefix("./")
            if runs and name.rpartition("/")[0] in FOLDERS:
                programs.add(name)
    return programs, versions


def _versions(status: str) -> Iterator[tuple[str, str]]:
    for entry in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version): (.*)$", entry, re.MULTILINE))
        if len(fields) == 2:
            yield fields["Package"], fields["Version"]
