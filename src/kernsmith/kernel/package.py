# SPDX-License-Identifier: GPL-2.0-or-later
"""Installable packages of a kernel: kbuild's own, of exactly the image that was measured."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.files import copy_file, write_text
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.build import COMPILED
from kernsmith.kernel.kbuild import copy_output, make_again
from kernsmith.kernel.note import FOLDER, NOTE, kernel_release, named, write_note
from kernsmith.kernel.package_kind import DEB, KINDS, PackageKind

_SECONDS = 600.0
# Read by every make before its own makefiles. All kinds of packages have modules installed, also
# where the kernel has none; the note goes with them.
_WITH_NOTE = """\
ifneq ($(filter modules_install,$(MAKECMDGOALS)),)
.PHONY: kernsmith-note
modules_install: kernsmith-note
kernsmith-note:
	@mkdir -p '$(INSTALL_MOD_PATH)/lib/modules/{release}/{folder}'
	@cp {note}/* '$(INSTALL_MOD_PATH)/lib/modules/{release}/{folder}'
endif
"""
# kbuild's scripts write the day into changelogs: it is the one that the kernel says it is of.
_DATE = """\
#!/bin/sh
case " $* " in
*" -d"* | *" --date"* | *" -r"*) exec {date} "$@" ;;
esac
exec {date} --utc --date=@"$SOURCE_DATE_EPOCH" "$@"
"""
# What scripts of packages obey in the user's environment.
_OBEYED = (
    "DEBEMAIL", "DEBFULLNAME", "DEB_BUILD_OPTIONS", "DEB_BUILD_PROFILES", "DPKG_FLAGS",
    "INSTALL_MOD_PATH", "INSTALL_MOD_STRIP", "KDEB_COMPRESS", "KDEB_PKGVERSION",
    "KDEB_SOURCENAME", "LOGDEST", "MAKEPKGOPTS", "PACKAGER", "PACMAN_EXTRAPACKAGES",
    "PACMAN_PKGBASE", "PKGDEST", "PKGEXT", "RPMOPTS", "SRCDEST", "SRCPKGDEST", "XZ_OPT",
)  # fmt: skip


Progress = Callable[[str, int], None]

_SAID = {
    COMPILED: "files of modules compiled",
    re.compile(r"^  LD \[M\]\s"): "modules linked",
    re.compile(r"^  (XZ|ZSTD|GZIP)\s.*\.ko\."): "modules compressed",
    re.compile(r"^(dpkg-deb: building package|Processing files: )"): "packages begun",
}
"""What kbuild and the tools of a distribution say of each step that takes long."""


class PackagingFailed(KernsmithError):
    """Packages that kbuild does not make, or that hold another kernel than the one asked for."""


def package_command(kernel: Kernel) -> str:
    """The shell command that makes installable packages of a kernel, from its objects."""
    return shlex.join(["kernsmith", "package", str(kernel.folder)])


def make_packages(
    kernel: Kernel,
    folder: Path,
    kind: PackageKind = KINDS[DEB],
    remark: Callable[[str], None] = lambda sentence: None,
    progress: Progress = lambda what, done: None,
) -> list[Path]:
    """Run kbuild's own target in a copy of the kernel's output; returns the packages.

    Modules are built, if the config has any. The image in the package is compared with the
    kernel's own, byte by byte. Beside the modules there is a note of what the kernel is (see
    `kernel.note`).

    folder: gets the packages and `package.log`.
    remark: called with a sentence where a package lacks that note.
    progress: called with what is being done with modules and packages, and how often it was.

    Raises:
        ProgramMissing: what makes such packages is not installed.
        PackagingFailed: make ended with an error, or the packaged image is not the kernel's.
    """
    kind.check()
    folder = folder.absolute()
    # Beside the kernel, so that objects can be linked instead of copied.
    with tempfile.TemporaryDirectory(prefix=".package-", dir=kernel.folder) as name:
        work = Path(name)
        copy_output(kernel, work)
        environment = _environment(kernel, kind, work)
        log = folder / "package.log"
        try:
            make_again(
                kernel, work, kind.target,
                log=log, environment=environment, on_line=counted(progress),
                prefix=kind.as_user(),
            )  # fmt: skip
        except ProcessFailed as error:
            raise PackagingFailed(f"the kernel cannot be packaged: {error}") from error
        packages = sorted(work.glob(kind.made))
        if not _has_note(kernel, kind, packages, work / "unpacked"):
            remark(
                f"the package has no {NOTE} about its kernel: kbuild of "
                f"{kernel.provenance['source']['name']} installs nothing beside a kernel without "
                "modules"
            )
        names = [kind.name(package.name, named(kernel)) for package in packages]
        for package, name in zip(packages, names, strict=True):
            copy_file(package, folder / name)
    return [folder / name for name in names]


def counted(progress: Progress) -> Callable[[str], None]:
    """What tells `progress` of each line of the log that says of a step that it was done."""
    done: Counter[str] = Counter()

    def read(line: str) -> None:
        for said, what in _SAID.items():
            if said.match(line):
                done[what] += 1
                progress(what, done[what])

    return read


def _environment(kernel: Kernel, kind: PackageKind, work: Path) -> dict[str, str | None]:
    """What kbuild's scripts see, and the files that it names."""
    note, makefile, programs = work / "note", work / "note.mk", work / "programs"
    write_note(kernel, note)
    release = kernel_release(kernel)
    write_text(
        makefile,
        _WITH_NOTE.format(release=release, folder=FOLDER, note=shlex.quote(str(note))),
    )
    scripts = {"date": _DATE.format(date=process.find("date"))}
    for program, edits in kind.edits.items():
        script = process.find(program).read_text(encoding="utf-8")
        for old, new in edits:
            script = script.replace(old, new)
        scripts[program] = script
    for name, text in scripts.items():
        write_text(programs / name, text)
        (programs / name).chmod(0o755)
    return {
        **dict.fromkeys(_OBEYED),
        **kind.variables(named(kernel)),
        "MAKEFILES": str(makefile),
        "PATH": f"{programs}:{process.search_path()}",
    }


def _has_note(kernel: Kernel, kind: PackageKind, packages: Sequence[Path], unpacked: Path) -> bool:
    """That one of the packages has the kernel's boot image; whether it has the note, too.

    Raises:
        PackagingFailed: none has it.
    """
    release = kernel_release(kernel)
    for package in filter(kind.is_main, packages):
        shutil.rmtree(unpacked, ignore_errors=True)
        process.run(kind.unpack(package, unpacked), timeout=_SECONDS)
        image = unpacked / kind.image.format(release=release)
        if not image.is_file():
            continue
        if file_digest(image) != file_digest(kernel.bzimage):
            raise PackagingFailed(
                f"{package.name} would hold another image than {kernel.bzimage}: what kbuild "
                "linked for the package is not what was measured, so no package is made"
            )
        return (unpacked / kind.modules.format(release=release) / FOLDER / NOTE).is_file()
    raise PackagingFailed(f"kbuild made no package with an image of {kernel.folder}")
