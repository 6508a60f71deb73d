# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way to name a source, and what is said when it cannot be had."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest

from kernsmith.errors import DiskFull, UserError
from kernsmith.kernel import source as source_module
from kernsmith.kernel.apt import Package, PrivateApt, host_mirrors, parse_mirrors
from kernsmith.kernel.history import Repository
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.tree import kernel_version

MAKEFILE = (
    "# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION = -rc1\nNAME = Some Name\n"
)


def _tree(folder: Path) -> Path:
    (folder / "kernel").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "Kconfig").write_text("mainmenu\n")
    (folder / "kernel" / "fork.c").write_text("int fork;\n")
    (folder / "link").symlink_to("Makefile")
    return folder


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index trusts files as soon as the file system's clock has gone on one tick."""
    monkeypatch.setattr("kernsmith.kernel.tree._RACY_SECONDS", 0.02)


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _repository(folder: Path) -> Path:
    _tree(folder)
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "one")
    return folder


def test_version_is_that_of_make_kernelversion(tmp_path: Path) -> None:
    assert kernel_version(_tree(tmp_path / "a")) == "7.3.4-rc1"


def test_a_folder(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "linux")
    source = resolve_source(str(tree), tmp_path / "cache")
    assert source.path == tree
    assert source.name == "linux-7.3.4-rc1"
    assert source.digest.startswith("files:")


@pytest.mark.parametrize("change", ["content", "mode", "new", "gone", "renamed", "link"])
def test_any_change_in_a_folder_changes_its_digest(
    tmp_path: Path, settled: None, change: str
) -> None:
    tree = _tree(tmp_path / "linux")
    cache = tmp_path / "cache"
    time.sleep(0.05)
    before = resolve_source(str(tree), cache).digest
    assert resolve_source(str(tree), cache).digest == before
    file = tree / "kernel" / "fork.c"
    if change == "content":
        status = file.stat()
        file.write_text("int spoon"[: status.st_size - 1] + "\n")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "mode":
        file.chmod(0o755)
    elif change == "new":
        (tree / "kernel" / "exit.c").write_text("")
    elif change == "gone":
        file.unlink()
    elif change == "renamed":
        file.rename(tree / "kernel" / "clone.c")
    else:
        (tree / "link").unlink()
        (tree / "link").symlink_to("Kconfig")
    assert resolve_source(str(tree), cache).digest != before


def test_the_index_spares_reading_and_does_not_change_the_digest(
    tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = _tree(tmp_path / "linux")
    time.sleep(0.05)
    before = resolve_source(str(tree), tmp_path / "cache").digest
    with monkeypatch.context() as patch:
        patch.setattr("kernsmith.kernel.tree._file_digest", lambda path, mode: pytest.fail("read"))
        assert resolve_source(str(tree), tmp_path / "cache").digest == before
    assert resolve_source(str(tree), tmp_path / "other").digest == before


def test_a_clean_work_tree_has_the_digest_of_its_revision(tmp_path: Path) -> None:
    tree = _repository(tmp_path / "linux")
    cache = tmp_path / "cache"
    clean = resolve_source(str(tree), cache)
    revision = resolve_source(f"git:{tree}@HEAD", cache)
    assert clean.digest == revision.digest == f"git-tree:{_git(tree, 'rev-parse', 'HEAD^{tree}')}"
    (tree / "kernel" / "new.c").write_text("")
    assert resolve_source(str(tree), cache).digest.startswith("files:")


def test_a_neighbouring_revision_is_linked_to_the_first_and_the_same_as_a_whole_export(
    tmp_path: Path,
) -> None:
    """Changed, new, removed and executable files, a file for a folder, a folder for a file."""
    tree = _repository(tmp_path / "linux")
    for name in ("drivers/a/old.c", "was_file", "was_folder/x/y.c", "same.c", "tool"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{name}\n")
    _git(tree, "add", "-A")
    _git(tree, "commit", "-qm", "two")
    old = resolve_source(f"git:{tree}@HEAD", tmp_path / "cache")
    before = {path: path.read_bytes() for path in old.path.rglob("*") if path.is_file()}
    shutil.rmtree(tree / "drivers")
    shutil.rmtree(tree / "was_folder")
    (tree / "was_folder").write_text("now a file\n")
    (tree / "was_file").unlink()
    (tree / "was_file").mkdir()
    (tree / "was_file" / "z.c").write_text("z\n")
    (tree / "kernel/fork.c").write_text("int fork = 1;\n")
    (tree / "tool").chmod(0o755)
    (tree / "link").unlink()
    (tree / "link").symlink_to("Kconfig")
    _git(tree, "add", "-A")
    _git(tree, "commit", "-qm", "three")
    linked = resolve_source(f"git:{tree}@HEAD", tmp_path / "cache").path
    whole = resolve_source(f"git:{tree}@HEAD", tmp_path / "another").path
    compared = subprocess.run(
        ["diff", "--recursive", "--no-dereference", whole, linked], capture_output=True, check=False
    )
    assert compared.returncode == 0, compared.stdout
    assert os.access(linked / "tool", os.X_OK)
    assert (linked / "same.c").stat().st_ino == (old.path / "same.c").stat().st_ino
    assert (whole / "same.c").stat().st_ino != (old.path / "same.c").stat().st_ino
    after = {path: path.read_bytes() for path in old.path.rglob("*") if path.is_file()}
    assert after == before, "the first export is as it was"


def test_a_git_revision(tmp_path: Path) -> None:
    tree = _repository(tmp_path / "linux")
    first = _git(tree, "rev-parse", "HEAD")
    (tree / ".gitattributes").write_text("kernel export-ignore\n")
    (tree / "kernel" / "fork.c").write_text("int changed;\n")
    _git(tree, "add", "-A")
    _git(tree, "commit", "-qm", "two")
    (tree / "kernel" / "fork.c").write_text("int not_committed;\n")
    cache = tmp_path / "cache"
    old = resolve_source(f"git:{tree}@{first}", cache)
    new = resolve_source(f"git:{tree}@HEAD", cache)
    assert (old.path / "kernel/fork.c").read_text() == "int fork;\n"
    assert (new.path / "kernel/fork.c").read_text() == "int changed;\n"
    assert (new.path / "link").readlink() == Path("Makefile")
    assert new.origin == f"git commit {_git(tree, 'rev-parse', 'HEAD')}"
    _git(tmp_path, "clone", "--quiet", "--bare", str(tree), "bare")
    bare = resolve_source(f"git:{tmp_path}/bare@HEAD", tmp_path / "another")
    assert bare.digest == new.digest
    assert (bare.path / "kernel/fork.c").read_bytes() == (new.path / "kernel/fork.c").read_bytes()
    assert (tree / "kernel/fork.c").read_text() == "int not_committed;\n"


@pytest.mark.parametrize("suffix", ["xz", "gz", "bz2"])
def test_a_tarball(tmp_path: Path, suffix: str) -> None:
    tree = _tree(tmp_path / "linux-7.3.4")
    tarball = tmp_path / f"linux.tar.{suffix}"
    with tarfile.open(tarball, f"w:{suffix}") as archive:
        archive.add(tree, tree.name)
    source = resolve_source(str(tarball), tmp_path / "cache")
    assert source.version == "7.3.4-rc1"
    assert (source.path / "kernel/fork.c").exists()
    assert resolve_source(str(tarball), tmp_path / "cache") == source
    assert source.digest.startswith("sha256:")


def test_a_tarball_without_a_folder_at_its_top(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "linux")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, ".")
    assert (resolve_source(str(tarball), tmp_path / "cache").path / "Makefile").exists()


def test_a_corrupt_tarball_leaves_nothing_behind(tmp_path: Path) -> None:
    tarball = tmp_path / "linux.tar.xz"
    tarball.write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot be unpacked: "):
        resolve_source(str(tarball), tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["locks"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/no/such/folder", "does not exist; allowed is debian:VERSION, git:FOLDER@REVISION"),
        ("debian:seven", "two numbers, as in debian:7.3"),
        ("git:/tmp", "write it as git:FOLDER@REVISION"),
        ("git:/no/such/folder@HEAD", "there is no folder /no/such/folder"),
        ("/etc/passwd", "is a file but no tarball"),
        ("/etc", "is not a kernel source: it has no Makefile"),
    ],
)
def test_what_is_no_source_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve_source(text, tmp_path / "cache")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_revision_that_does_not_exist(tmp_path: Path) -> None:
    tree = _repository(tmp_path / "linux")
    with pytest.raises(UserError, match="has no revision v9"):
        resolve_source(f"git:{tree}@v9", tmp_path / "cache")


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(tarball: Path, tree: Path) -> None:
        raise OSError(28, "No space left on device")

    tarball = tmp_path / "linux.tar"
    tarball.write_bytes(b"")
    monkeypatch.setattr(source_module, "unpack", full)
    with pytest.raises(DiskFull, match="no space left on the disk of"):
        resolve_source(str(tarball), tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.part"))


def test_two_at_once_unpack_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = _tree(tmp_path / "linux")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, tree.name)
    unpack, calls = source_module.unpack, []

    def counted(tarball: Path, tree: Path) -> None:
        calls.append(tarball)
        time.sleep(0.3)
        unpack(tarball, tree)

    monkeypatch.setattr(source_module, "unpack", counted)
    threads = [
        threading.Thread(target=resolve_source, args=(str(tarball), tmp_path / "cache"))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_a_kill_in_the_middle_leaves_nothing_half_done(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "linux")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, tree.name)
    script = f"""
import os
from pathlib import Path
from kernsmith.kernel import source
unpack = source.unpack
def killed(tarball, tree):
    unpack(tarball, tree)
    os.kill(os.getpid(), 9)
source.unpack = killed
source.resolve_source({str(tarball)!r}, Path({str(tmp_path / "cache")!r}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert list((tmp_path / "cache").glob("*.part"))
    source = resolve_source(str(tarball), tmp_path / "cache")
    assert (source.path / "Makefile").exists()
    assert not list((tmp_path / "cache").glob("*.part"))


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
        tree = _tree(root / "linux-source-9.9")
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


@pytest.mark.parametrize(
    ("name", "link", "kind", "told"),
    [
        ("linux/out", "/etc", tarfile.SYMTYPE, "the link out leads out of it, to /etc"),
        ("linux/out", "../../../etc", tarfile.SYMTYPE, "the link out leads out of it"),
        ("linux/out", "kernel/../../../x", tarfile.SYMTYPE, "the link out leads out of it"),
        ("linux/hard", "/etc/passwd", tarfile.LNKTYPE, "cannot be unpacked|begin with"),
        ("linux/hard", "../../secret", tarfile.LNKTYPE, "cannot be unpacked|begin with"),
        ("linux/../../canary", "", tarfile.REGTYPE, "Removing leading"),
        ("../canary", "", tarfile.REGTYPE, "Removing leading"),
        ("{tmp}/canary", "", tarfile.REGTYPE, "names in it begin with /"),
        ("linux/pipe", "", tarfile.FIFOTYPE, "pipe is a device or a pipe"),
        ("linux/null", "", tarfile.CHRTYPE, "null is a device or a pipe|cannot be unpacked"),
    ],
)
def test_nothing_in_a_tarball_leads_out_of_it(
    tmp_path: Path, name: str, link: str, kind: bytes, told: str
) -> None:
    tree = _tree(tmp_path / "made" / "linux")
    (tmp_path / "secret").write_text("not the tarball's\n")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, "linux")
        member = tarfile.TarInfo(name.format(tmp=tmp_path))
        member.type, member.linkname = kind, link
        archive.addfile(member)
    with pytest.raises(UserError, match=told) as caught:
        resolve_source(str(tarball), tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["locks"]
    assert not list(tmp_path.rglob("canary"))


def test_a_tarball_whose_top_is_a_link_stays_in_the_cache(tmp_path: Path) -> None:
    """The link led to a folder of the user's: what was built would have been that."""
    outside = _tree(tmp_path / "mine")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        member = tarfile.TarInfo("linux")
        member.type, member.linkname = tarfile.SYMTYPE, str(outside)
        archive.addfile(member)
    with pytest.raises(UserError, match=r"the link linux leads out of it"):
        resolve_source(str(tarball), tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["locks"]


def test_files_behind_a_link_are_not_written(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "made" / "linux")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, "linux")
        member = tarfile.TarInfo("linux/out")
        member.type, member.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(member)
        archive.addfile(tarfile.TarInfo("linux/out/canary"))
    with pytest.raises(UserError):
        resolve_source(str(tarball), tmp_path / "cache")
    assert not list(tmp_path.rglob("canary"))


def _canary(folder: Path) -> tuple[Path, Path]:
    """A file that must not come into being, and a program that makes it."""
    canary, program = folder / "canary", folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    program.chmod(0o755)
    return canary, program


@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process",
        "diff.x.textconv", "diff.x.command", "gpg.program", "hook", "remote",
    ],
)  # fmt: skip
def test_a_repository_runs_no_program_of_its_configuration(tmp_path: Path, setting: str) -> None:
    canary, program = _canary(tmp_path)
    tree = _repository(tmp_path / "linux")
    (tree / ".gitattributes").write_text("*.c filter=x diff=x\n")
    _git(tree, "add", "-A")
    _git(tree, "commit", "-qm", "two")
    if setting == "hook":
        for name in ("post-index-change", "post-checkout", "reference-transaction"):
            shutil.copy(program, tree / ".git/hooks" / name)
    elif setting == "remote":
        _git(tree, "config", "remote.o.promisor", "true")
        _git(tree, "config", "remote.o.url", str(tree))
        _git(tree, "config", "remote.o.uploadpack", str(program))
        _git(tree, "config", "extensions.partialClone", "o")
        blob = _git(tree, "rev-parse", "HEAD:kernel/fork.c")
        (tree / ".git/objects" / blob[:2] / blob[2:]).unlink()
    else:
        _git(tree, "config", setting, str(program))
        _git(tree, "config", "log.showSignature", "true")
    os.utime(tree / "kernel/fork.c")
    for word in (str(tree), f"git:{tree}@HEAD"):
        try:
            resolve_source(word, tmp_path / "cache")
        except UserError as refused:
            assert setting == "remote"
            assert "lacks objects of HEAD (a partial clone?)" in str(refused)
    assert Repository(tree).commit("HEAD").subject == "two"
    assert not canary.exists()


def test_a_clean_work_tree_is_known_by_its_revision_through_exclude_and_worktrees(
    tmp_path: Path,
) -> None:
    tree = _repository(tmp_path / "linux")
    (tree / "mine.o").write_text("")
    (tree / ".git/info/exclude").write_text("*.o\n")
    digest = f"git-tree:{_git(tree, 'rev-parse', 'HEAD^{tree}')}"
    assert resolve_source(str(tree), tmp_path / "cache").digest == digest
    _git(tree, "worktree", "add", "-q", str(tmp_path / "second"))
    assert resolve_source(str(tmp_path / "second"), tmp_path / "cache").digest == digest
    _git(tree, "rm", "-q", "--cached", "kernel/fork.c")
    assert resolve_source(str(tree), tmp_path / "cache").digest.startswith("files:")


@pytest.mark.parametrize("name", ["li nux", "$(touch canary)", "a;b", "a:b", "`x`", "a'b"])
def test_a_folder_that_make_would_expand_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="characters that make or a shell expands"):
        resolve_source(str(_tree(tmp_path / name)), tmp_path / "cache")
