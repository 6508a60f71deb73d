# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of packages: what they need, what they are called, and what is said where it is missing."""

from pathlib import Path

import pytest

from kernsmith.errors import ProgramMissing, UserError
from kernsmith.kernel import package_kind
from kernsmith.kernel.package import counted
from kernsmith.kernel.package_kind import DEB, KINDS, PACMAN, RPM, TAR, Named, kind_of

NAMED = Named("7.4.0-rc1-web", "7.4.0-rc1", "kernsmith.1395ba40", "1767225600")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("linux-image-7.3.4-web_7.3.4+kernsmith.1395ba40-1_amd64.deb", DEB),
        ("kernel-7.3.4_web-1.x86_64.rpm", RPM),
        ("linux-kernsmith-1395ba40-7.3.4-1-x86_64.pkg.tar.zst", PACMAN),
        ("linux-7.3.4+kernsmith.1395ba40-x86.tar.xz", TAR),
    ],
)
def test_a_package_with_a_kernel_is_known_by_its_name(name: str, kind: str) -> None:
    assert kind_of(Path("packages") / name) is KINDS[kind]


@pytest.mark.parametrize(
    "name",
    [
        "linux-image-7.3.4-dbg_7.3.4+kernsmith.1395ba40-1_amd64.deb",
        "linux-headers-7.3.4_7.3.4+kernsmith.1395ba40-1_amd64.deb",
        "kernel-devel-7.3.4-1.x86_64.rpm",
        "linux-kernsmith-1395ba40-headers-7.3.4-1-x86_64.pkg.tar.zst",
    ],
)
def test_packages_beside_it_are_none(name: str) -> None:
    with pytest.raises(UserError, match="is no package of a kernel that kernsmith made"):
        kind_of(Path(name))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            DEB,
            "dpkg-buildpackage is not installed here; get it with: sudo apt-get install dpkg-dev",
        ),
        (RPM, "rpmbuild is not installed here; get it with: sudo apt-get install rpm"),
        (PACMAN, "makepkg is not installed here; get it with: sudo apt-get install makepkg"),
        (TAR, "tar is not installed here; get it with: sudo apt-get install tar"),
    ],
)
def test_what_is_missing_is_one_sentence(
    kind: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissing) as caught:
        KINDS[kind].check()
    assert str(caught.value) == told.format("sudo apt-get install")


def test_root_is_another_user_to_makepkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KINDS[PACMAN].programs, "unshare"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(package_kind.os, "geteuid", lambda: 0)
    KINDS[PACMAN].check()
    assert KINDS[PACMAN].as_user()[0] == "unshare"
    assert not KINDS[DEB].as_user()
    (tmp_path / "unshare").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UserError, match="makepkg does not run as root, and there are no user name"):
        KINDS[PACMAN].check()
    monkeypatch.setattr(package_kind.os, "geteuid", lambda: 1000)
    KINDS[PACMAN].check()
    assert not KINDS[PACMAN].as_user()


def test_names_tell_kernels_of_one_release_apart_and_leave_the_builds_number() -> None:
    """The number behind the hyphen is in `uname -v` (`#1`): another one would be linked in."""
    deb, pacman = (KINDS[kind].variables(NAMED) for kind in (DEB, PACMAN))
    assert deb["KDEB_PKGVERSION"] == "7.4.0~rc1+kernsmith.1395ba40-1"
    assert pacman["PACMAN_PKGBASE"] == "linux-kernsmith-1395ba40"
    name = KINDS[TAR].name("linux-7.4.0-rc1-web-x86.tar.xz", NAMED)
    assert name == "linux-7.4.0-rc1-web+kernsmith.1395ba40-x86.tar.xz"


def test_a_package_tells_how_far_it_is() -> None:
    """Of a kernel with a thousand modules, compressing and packing take a quarter of an hour."""
    lines = (
        "  CC [M]  net/smc/smc_diag.o",
        "  AS [M]  arch/x86/crypto/aesni-intel_asm.o",
        "  CC      net/socket.o",
        "  LD [M]  net/smc/smc_diag.ko",
        "  INSTALL debian/linux-image-6.12.118/lib/modules/6.12.118/kernel/net/smc/smc_diag.ko",
        "  STRIP   debian/linux-image-6.12.118/lib/modules/6.12.118/kernel/net/smc/smc_diag.ko",
        "  XZ      debian/linux-image-6.12.118/lib/modules/6.12.118/kernel/net/smc/smc_diag.ko.xz",
        "dpkg-deb: building package 'linux-image-6.12.118' in '../linux-image.deb'.",
    )
    told: list[tuple[str, int]] = []
    read = counted(lambda what, done: told.append((what, done)))
    for line in lines:
        read(line)
    assert told == [
        ("files of modules compiled", 1),
        ("files of modules compiled", 2),
        ("files of modules compiled", 3),
        ("modules linked", 1),
        ("modules compressed", 1),
        ("packages begun", 1),
    ]
