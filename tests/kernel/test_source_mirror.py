# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources from the mirrors of Debian that apt knows of."""

import hashlib
import subprocess
import tarfile
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.apt import Package, PrivateApt, host_mirrors, parse_mirrors
from kernsmith.kernel.source import resolve_source
from small_source import small_tree


def test_mirrors_are_read_from_what_apt_says() -> None:
    listing = """\
main bookworm-security http://mirror.example/debian-security/
stable bookworm https://vendor.example/linux/debian/
main bookworm http://vendor.example/apt/
main bookworm http://mirror.example/debian/
main bookworm-updates http://mirror.example/debian/
"""
    mirrors = ("http://mirror.example/debian/", "http://mirror.example/debian-security/")
    assert parse_mirrors(listing) == mirrors
    assert parse_mirrors(f" / https://flat.example/x/\n / main/\n{listing}") == mirrors
    assert parse_mirrors("main noble http://mirror.example/ubuntu/\n") == (None, None)


def test_both_formats_of_apt_sources_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "debian.sources").write_text(
        "Types: deb\nURIs: http://new.example/debian\nSuites: trixie trixie-updates\n"
        "Components: main\n"
    )
    (tmp_path / "sources.list").write_text(
        "deb [arch=amd64] http://old.example/debian-security bookworm-security main contrib\n"
    )
    config = tmp_path / "apt.conf"
    config.write_text(
        f'Dir::Etc::SourceList "{tmp_path}/sources.list";\nDir::Etc::SourceParts "{parts}";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(config))
    assert host_mirrors() == (
        "http://new.example/debian/",
        "http://old.example/debian-security/",
    )


def test_a_system_without_a_debian_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernsmith.kernel.apt.host_mirrors", lambda: (None, None))
    with pytest.raises(UserError, match="no Debian mirror in this system's apt sources"):
        resolve_source("debian:7.3", tmp_path / "sources")


class _LocalMirror:
    """A Debian mirror in a folder, with one small `linux-source-9.9`, in all suites."""

    def __init__(self, folder: Path) -> None:
        self.url = f"file:{folder}/"
        self.folder = folder
        pool = folder / "pool"
        pool.mkdir(parents=True)
        for version in ("9.9.1-1", "9.9.10-1", "9.9.2-1"):
            self._package(pool, version)
        for suite in ("bookworm", "sid"):
            binary = folder / "dists" / suite / "main" / "binary-amd64"
            binary.mkdir(parents=True)
            scan = ["dpkg-scanpackages", "--multiversion", "pool"]
            listed = subprocess.run(scan, cwd=folder, check=True, capture_output=True).stdout
            (binary / "Packages").write_bytes(listed)
            (folder / "dists" / suite / "Release").write_text(
                f"Origin: Test\nSuite: {suite}\nCodename: {suite}\nComponents: main\n"
                "Architectures: amd64\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n"
                f" {hashlib.sha256(listed).hexdigest()} {len(listed)} main/binary-amd64/Packages\n"
            )

    def _package(self, pool: Path, version: str) -> None:
        root = pool.parent / f"build-{version}"
        (root / "DEBIAN").mkdir(parents=True)
        (root / "usr/src").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(
            f"Package: linux-source-9.9\nVersion: {version}\nArchitecture: all\n"
            "Maintainer: n <e@example.org>\nDescription: source\n"
        )
        tree = small_tree(root / "linux-source-9.9")
        with tarfile.open(root / "usr/src/linux-source-9.9.tar.xz", "w:xz") as archive:
            archive.add(tree, tree.name)
        subprocess.run(["rm", "-rf", str(tree)], check=True)
        build = ["dpkg-deb", "--build", "--root-owner-group", str(root), str(pool)]
        subprocess.run(build, check=True, capture_output=True)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _LocalMirror:
    """A local mirror that is not signed, in place of the host's."""
    local = _LocalMirror(tmp_path / "mirror")
    monkeypatch.setattr("kernsmith.kernel.apt.host_mirrors", lambda: (local.url, None))
    return local


def test_an_unsigned_mirror_is_refused(tmp_path: Path, mirror: _LocalMirror) -> None:
    with pytest.raises(UserError, match="Debian's package lists cannot be fetched"):
        resolve_source("debian:9.9", tmp_path / "home" / "sources")


def test_the_newest_package_of_all_suites(
    tmp_path: Path, mirror: _LocalMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    _trust(mirror, tmp_path, monkeypatch)
    cache = tmp_path / "home" / "sources"
    with pytest.raises(UserError, match=r"Debian has no kernel source 8\.8; it has debian:9\.9"):
        resolve_source("debian:8.8", cache)
    shown: list[tuple[str, float | None]] = []
    source = resolve_source(
        "debian:9.9", cache, progress=lambda what, share: shown.append((what, share))
    )
    assert source.origin == "Debian linux-source-9.9 9.9.10-1"
    assert source.version == "7.3.4-rc1"
    package = PrivateApt(tmp_path / "home" / "apt").newest("linux-source-9.9")
    assert isinstance(package, Package)
    assert source.digest == f"sha256:{package.sha256}"
    assert ("fetching Debian's package lists", None) in shown
    monkeypatch.setattr("kernsmith.kernel.apt.host_mirrors", lambda: pytest.fail("asked again"))
    assert resolve_source("debian:9.9", cache) == source


def _trust(mirror: _LocalMirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sign the mirror with a key of our own and make that the archive's keyring."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--batch", "--homedir", str(home), "--yes"]
    keyring = tmp_path / "archive.gpg"
    steps = [
        [*gpg, "--passphrase", "", "--quick-generate-key", "archive", "rsa2048", "sign"],
        [*gpg, "--output", str(keyring), "--export"],
    ]
    for release in mirror.folder.glob("dists/*/Release"):
        signed = str(release.with_name("InRelease"))
        steps.append([*gpg, "--clearsign", "--output", signed, str(release)])
    try:
        for step in steps:
            subprocess.run(step, check=True, capture_output=True)
    finally:
        stop = ["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"]
        subprocess.run(stop, check=True, capture_output=True)
    monkeypatch.setattr("kernsmith.kernel.apt.KEYRINGS", (keyring,))


def test_the_real_mirror_is_found_on_a_debian_system() -> None:
    if "debian" not in Path("/etc/os-release").read_text():
        pytest.skip("not a Debian system")
    main, security = host_mirrors()
    assert main
    assert security is None or security != main
