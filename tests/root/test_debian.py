# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian roots: what packages may be named, and that equal ones give equal images."""

import os
import tarfile
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.errors import ProcessFailed, ProgramMissing, UserError
from kernsmith.root import check_component, check_package, debian_root, known_root
from kernsmith.root.debian import COMPONENTS, _described, _note, _wanted, told_failure


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("name", ["", "A", "-x", "a b", "a;b", "a=1", "--simulate", "a\n", "ä"])
def test_what_is_no_package_never_reaches_apt(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a Debian package"):
        check_package(name)


def test_names_of_packages() -> None:
    for name in ("sqlite3", "libstdc++6", "0ad", "python3.13-minimal"):
        assert check_package(name) == name


def test_components_are_those_of_the_archive() -> None:
    assert [check_component(name) for name in COMPONENTS] == list(COMPONENTS)
    for name in ("", "nonfree", "main,non-free", "--simulate"):
        with pytest.raises(ValueError, match="allowed are main, contrib, non-free"):
            check_component(name)


@pytest.mark.usefixtures("cache")
def test_a_root_is_found_by_its_packages_and_by_other_components_than_main() -> None:
    def name(components: tuple[str, ...]) -> str:
        return _note(_wanted(["linux-perf", "linux-perf"], components)).name

    # The name of roots that were made before a file could say components.
    assert name(("main",)) == "trixie-219ae5be4a7e1904de93.json"
    assert name(("main", "non-free")) == name(("non-free", "main", "main"))
    names = {name(("main", "non-free")), name(("non-free",)), name(("main", "contrib"))}
    assert len(names) == 3 and name(("main",)) not in names


def test_mmdebstrap_is_told_the_components(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []

    def run(command: list[str | Path], **_: object) -> None:
        commands.append(tuple(map(str, command)))
        raise ProcessFailed(commands[-1], 25, "", cache / "log")

    monkeypatch.setattr("kernsmith.root.debian.process.find", lambda _: Path("program"))
    monkeypatch.setattr("kernsmith.root.debian.process.run", run)
    monkeypatch.setattr("kernsmith.root.debian.host_mirrors", lambda: ("http://mirror", None))
    monkeypatch.setattr("kernsmith.root.debian.told_failure", lambda failure, *_: failure)
    for components in (("main",), ("non-free", "main")):
        assert known_root(["lmbench"], components) is None
        with pytest.raises(ProcessFailed):
            debian_root(["lmbench"], components=components)
    first, second = commands
    assert "--components=main" in first and "--components=main,non-free" in second


def test_a_missing_program_is_named_with_what_installs_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissing, match=r"mmdebstrap is not installed.*apt-get install"):
        debian_root(["sqlite3"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("E: Unable to locate package sqlite33", "trixie has no package 'sqlite33' in main"),
        ("E: Package 'awk' has no installation candidate", "trixie has no package 'awk'"),
        ("E: Failed to fetch x  Could not resolve", "packages cannot be fetched: Failed to fetch"),
    ],
)
def test_what_apt_refuses_is_one_sentence(tmp_path: Path, said: str, told: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"I: installing\n{said}\nE: setup failed\n")
    error = told_failure(ProcessFailed(("mmdebstrap",), 25, "E: setup failed", log), log)
    assert isinstance(error, UserError)
    assert told in str(error) and "\n" not in str(error)


def test_programs_and_versions_of_an_archive(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in ("usr/bin", "usr/lib", "var/lib/dpkg"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text(
        "Package: a\nVersion: 1-2\n\nPackage: b\nStatus: x\nVersion: 3\n"
    )
    for name, mode in (("usr/bin/run", 0o755), ("usr/bin/text", 0o644), ("usr/lib/x", 0o755)):
        (root / name).write_text("")
        (root / name).chmod(mode)
    (root / "usr/bin/link").symlink_to("run")
    archive = tmp_path / "root.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(root, arcname=".")
    assert _described(archive) == ({"usr/bin/run", "usr/bin/link"}, {"a": "1-2", "b": "3"})


def test_equal_packages_give_an_equal_image(cache: Path) -> None:
    if ALL not in os.environ:
        pytest.skip("two roots of Debian's packages take minutes: make test-all makes them")
    first = debian_root(["sqlite3"])
    assert first.has("sqlite3") and first.has("sort")
    assert {name for name, _ in first.packages} >= {"sqlite3", "coreutils"}
    assert debian_root(["sqlite3"]) == first
    for note in (cache / "roots").glob("*.json"):
        note.unlink()
    assert debian_root(["sqlite3"]) == first
    with pytest.raises(UserError, match="has no package 'no-such-package'"):
        debian_root(["no-such-package"])
