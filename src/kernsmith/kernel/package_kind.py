# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of packages that kbuild makes of a kernel (scripts/Makefile.package), and their tools."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernsmith import process
from kernsmith.errors import UserError

DEB, RPM, PACMAN, TAR = "deb", "rpm", "pacman", "tar"
_AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
_SECONDS = 60.0


@dataclass(frozen=True)
class Named:
    """What a package's name says.

    release: what `uname -r` says. version: of the source. mark: tells kernels of one release apart.
    written: the time stamp of all that is in packages, in seconds since 1970.
    """

    release: str
    version: str
    mark: str
    written: str


@dataclass(frozen=True)
class PackageKind:
    """A kind of package.

    target: kbuild's. programs: what must be installed, beside what builds kernels.
    variables: what kbuild's scripts are told in the environment.
    made: where packages are afterwards, as a pattern below the folder that kbuild's output is in.
    main: the package with the kernel, as a pattern of its name. beside: what the names of others
        that fit it have in them.
    image: the boot image in an unpacked package, with `{release}`.
    modules: the folder of modules there, likewise.
    unpack: the command that unpacks a package into a folder.
    name: what a package is called here, by the name that kbuild gives it.
    needs_a_user: whether its program refuses to run as root.
    edits: what is put in place of what in programs of its that are scripts, for packages that hold
        nothing of the machine; another version that has no such words is run as it is.
    """

    target: str
    programs: tuple[str, ...]
    variables: Callable[[Named], dict[str, str]]
    made: str
    main: str
    image: str
    modules: str
    unpack: Callable[[Path, Path], list[str | Path]]
    beside: str = "\0"
    name: Callable[[str, Named], str] = lambda file, named: file
    needs_a_user: bool = False
    edits: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def is_main(self, package: Path) -> bool:
        """Whether a package is the one with the kernel."""
        return package.match(self.main) and self.beside not in package.name

    def check(self) -> None:
        """That this host can make such packages.

        Raises:
            ProgramMissing: a program is not installed; the message says how it is.
            UserError: its program does not run as root, and nobody can be made another user.
        """
        for program in self.programs:
            process.find(program)
        if words := self.as_user():
            process.find(words[0])
            tried = process.run([*words, "true"], timeout=_SECONDS, check=False)
            if tried.returncode:
                raise UserError(
                    f"{self.programs[0]} does not run as root, and there are no user namespaces "
                    f"here to be another user in ({' '.join(words)} true): make the package as "
                    "another user"
                )

    def as_user(self) -> tuple[str, ...]:
        """Words in front of a command that make root somebody else to it, and the owner of all
        that is root's; none where nobody asks, or somebody else is at work."""
        return _AS_USER if self.needs_a_user and os.geteuid() == 0 else ()


def _unpack_rpm(package: Path, folder: Path) -> list[str | Path]:
    into = shlex.quote(str(folder))
    words = f"mkdir -p {into} && cd {into} && rpm2cpio {shlex.quote(str(package))}"
    return ["sh", "-c", f"{words} | cpio -idm --quiet"]


def _unpack_tar(package: Path, folder: Path) -> list[str | Path]:
    into = shlex.quote(str(folder))
    file = shlex.quote(str(package))
    return ["sh", "-c", f"mkdir -p {into} && tar --extract --file {file} --directory {into}"]


KINDS: dict[str, PackageKind] = {
    DEB: PackageKind(
        target="bindeb-pkg",
        programs=("dpkg-buildpackage", "dh_prep", "rsync"),
        # The revision is what the image says as its build's number (KBUILD_BUILD_VERSION).
        variables=lambda named: {
            "KDEB_PKGVERSION": f"{named.version.replace('-rc', '~rc')}+{named.mark}-1",
            "KDEB_CHANGELOG_DIST": "unstable",
        },
        made="*.deb",
        main="linux-image-*.deb",
        beside="-dbg_",
        image="boot/vmlinuz-{release}",
        modules="lib/modules/{release}",
        unpack=lambda package, folder: ["dpkg-deb", "--extract", package, folder],
    ),
    RPM: PackageKind(
        target="binrpm-pkg",
        programs=("rpmbuild", "rpm2cpio", "cpio", "rsync"),
        # kbuild takes the release of the package, with the distribution's suffix, for the build's
        # number, which the image says.
        variables=lambda named: {
            "RPMOPTS": "--define='dist %{nil}' --define='_buildhost kernsmith' "
            "--define='use_source_date_epoch_as_buildtime 1' "
            "--define='clamp_mtime_to_source_date_epoch 1'",
        },
        made="out/rpmbuild/RPMS/*/*.rpm",
        main="kernel-[0-9]*.rpm",
        image="lib/modules/{release}/vmlinuz",
        modules="lib/modules/{release}",
        unpack=_unpack_rpm,
    ),
    PACMAN: PackageKind(
        target="pacman-pkg",
        # makepkg looks for pacman also where it is to ask it nothing.
        programs=("makepkg", "pacman", "bsdtar", "zstd", "rsync"),
        variables=lambda named: {
            "PACMAN_PKGBASE": f"linux-{named.mark.replace('.', '-')}",
            "MAKEPKGOPTS": "--nodeps --force",
            "PKGEXT": ".pkg.tar.zst",
        },
        # Into .BUILDINFO comes where it was made: what Arch's own builders write.
        edits={
            "makepkg": (
                ('"builddir"  "${BUILDDIR}"', '"builddir"  "/build"'),
                ('"startdir"  "${startdir}"', '"startdir"  "/startdir"'),
            )
        },
        made="out/*.pkg.tar*",
        main="linux-kernsmith-????????-[0-9]*.pkg.tar*",
        image="usr/lib/modules/{release}/vmlinuz",
        modules="usr/lib/modules/{release}",
        unpack=_unpack_tar,
        needs_a_user=True,
    ),
    TAR: PackageKind(
        target="tarxz-pkg",
        programs=("tar", "xz"),
        variables=lambda named: {"TAR_OPTIONS": f"--mtime=@{named.written}"},
        made="out/linux-*.tar.xz",
        main="linux-*.tar.xz",
        image="boot/vmlinuz-{release}",
        modules="lib/modules/{release}",
        unpack=_unpack_tar,
        name=lambda file, named: file.replace(named.release, f"{named.release}+{named.mark}", 1),
    ),
}
"""By the words for them."""


def kind_of(package: Path) -> PackageKind:
    """The kind of a package with a kernel, by its name.

    Raises:
        UserError: it is none.
    """
    for kind in KINDS.values():
        if kind.is_main(package):
            return kind
    known = ", ".join(kind.main for kind in KINDS.values())
    raise UserError(
        f"{package} is no package of a kernel that kernsmith made: these are called {known}"
    )
