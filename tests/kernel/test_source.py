# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way to name a source, and what is said when it cannot be had."""

import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernsmith.errors import DiskFull, UserError
from kernsmith.kernel import source as source_module
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.tree import kernel_version
from small_source import git_in, small_repository, small_tree


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index trusts files as soon as the file system's clock has gone on one tick."""
    monkeypatch.setattr("kernsmith.kernel.tree._RACY_SECONDS", 0.02)


def test_version_is_that_of_make_kernelversion(tmp_path: Path) -> None:
    assert kernel_version(small_tree(tmp_path / "a")) == "7.3.4-rc1"


def test_a_folder(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "linux")
    source = resolve_source(str(tree), tmp_path / "cache")
    assert source.path == tree
    assert source.name == "linux-7.3.4-rc1"
    assert source.digest.startswith("files:")


@pytest.mark.parametrize("change", ["content", "mode", "new", "gone", "renamed", "link"])
def test_any_change_in_a_folder_changes_its_digest(
    tmp_path: Path, settled: None, change: str
) -> None:
    tree = small_tree(tmp_path / "linux")
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
    tree = small_tree(tmp_path / "linux")
    time.sleep(0.05)
    before = resolve_source(str(tree), tmp_path / "cache").digest
    with monkeypatch.context() as patch:
        patch.setattr("kernsmith.kernel.tree._file_digest", lambda path, mode: pytest.fail("read"))
        assert resolve_source(str(tree), tmp_path / "cache").digest == before
    assert resolve_source(str(tree), tmp_path / "other").digest == before


def test_a_clean_work_tree_has_the_digest_of_its_revision(tmp_path: Path) -> None:
    tree = small_repository(tmp_path / "linux")
    cache = tmp_path / "cache"
    clean = resolve_source(str(tree), cache)
    revision = resolve_source(f"git:{tree}@HEAD", cache)
    assert clean.digest == revision.digest == f"git-tree:{git_in(tree, 'rev-parse', 'HEAD^{tree}')}"
    (tree / "kernel" / "new.c").write_text("")
    assert resolve_source(str(tree), cache).digest.startswith("files:")


@pytest.mark.parametrize(
    "left", [".config", "include/config/auto.conf", "arch/x86/include/generated/asm/unistd.h"]
)
def test_a_folder_in_which_make_was_run_is_taken_by_its_revision(tmp_path: Path, left: str) -> None:
    tree = small_repository(tmp_path / "linux")
    (tree / ".git/info/exclude").write_text("/.config\n/include/\n/arch/\n")
    (tree / left).parent.mkdir(parents=True, exist_ok=True)
    (tree / left).write_text("CONFIG_64BIT=y\n")
    cache = tmp_path / "cache"
    source = resolve_source(str(tree), cache)
    assert source == resolve_source(f"git:{tree}@HEAD", cache)
    assert source.path.is_relative_to(cache)
    assert not (source.path / left).exists()
    assert (tree / left).exists()


@pytest.mark.parametrize("make", [small_tree, small_repository])
def test_a_folder_with_changes_in_which_make_was_run_is_refused_and_the_config_kept(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    tree = make(tmp_path / "linux")
    (tree / ".config").write_text("CONFIG_64BIT=y\n")
    (tree / "kernel/fork.c").write_text("int changed;\n")
    with pytest.raises(
        UserError, match=r"\(it has \.config\).*: copy its \.config to another fold"
    ):
        resolve_source(str(tree), tmp_path / "cache")
    assert (tree / ".config").exists()


def test_a_neighbouring_revision_is_linked_to_the_first_and_the_same_as_a_whole_export(
    tmp_path: Path,
) -> None:
    """Changed, new, removed and executable files, a file for a folder, a folder for a file."""
    tree = small_repository(tmp_path / "linux")
    for name in ("drivers/a/old.c", "was_file", "was_folder/x/y.c", "same.c", "tool"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{name}\n")
    git_in(tree, "add", "-A")
    git_in(tree, "commit", "-qm", "two")
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
    git_in(tree, "add", "-A")
    git_in(tree, "commit", "-qm", "three")
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
    tree = small_repository(tmp_path / "linux")
    first = git_in(tree, "rev-parse", "HEAD")
    (tree / ".gitattributes").write_text("kernel export-ignore\n")
    (tree / "kernel" / "fork.c").write_text("int changed;\n")
    git_in(tree, "add", "-A")
    git_in(tree, "commit", "-qm", "two")
    (tree / "kernel" / "fork.c").write_text("int not_committed;\n")
    cache = tmp_path / "cache"
    old = resolve_source(f"git:{tree}@{first}", cache)
    new = resolve_source(f"git:{tree}@HEAD", cache)
    assert (old.path / "kernel/fork.c").read_text() == "int fork;\n"
    assert (new.path / "kernel/fork.c").read_text() == "int changed;\n"
    assert (new.path / "link").readlink() == Path("Makefile")
    assert new.origin == f"git commit {git_in(tree, 'rev-parse', 'HEAD')}"
    git_in(tmp_path, "clone", "--quiet", "--bare", str(tree), "bare")
    bare = resolve_source(f"git:{tmp_path}/bare@HEAD", tmp_path / "another")
    assert bare.digest == new.digest
    assert (bare.path / "kernel/fork.c").read_bytes() == (new.path / "kernel/fork.c").read_bytes()
    assert (tree / "kernel/fork.c").read_text() == "int not_committed;\n"


@pytest.mark.parametrize("suffix", ["xz", "gz", "bz2"])
def test_a_tarball(tmp_path: Path, suffix: str) -> None:
    tree = small_tree(tmp_path / "linux-7.3.4")
    tarball = tmp_path / f"linux.tar.{suffix}"
    with tarfile.open(tarball, f"w:{suffix}") as archive:
        archive.add(tree, tree.name)
    source = resolve_source(str(tarball), tmp_path / "cache")
    assert source.version == "7.3.4-rc1"
    assert (source.path / "kernel/fork.c").exists()
    assert resolve_source(str(tarball), tmp_path / "cache") == source
    assert source.digest.startswith("sha256:")


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"name": 3}'])
def test_an_entry_that_does_not_say_what_it_is_is_made_anew(
    tmp_path: Path, text: str | None
) -> None:
    tarball, cache = tmp_path / "linux.tar", tmp_path / "cache"
    with tarfile.open(tarball, "w") as archive:
        archive.add(small_tree(tmp_path / "linux"), "linux")
    source = resolve_source(str(tarball), cache)
    said = source.path.parent / "source.json"
    if text is None:
        said.unlink()
    else:
        said.write_text(text)
    (source.path / "left").touch()
    assert resolve_source(str(tarball), cache) == source
    assert not (source.path / "left").exists()
    (entry,) = (path for path in cache.iterdir() if path.name != "locks")
    assert {path.name for path in entry.iterdir()} >= {"source.json", "tree"}


def test_a_tarball_without_a_folder_at_its_top(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "linux")
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
    tree = small_repository(tmp_path / "linux")
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
    tree = small_tree(tmp_path / "linux")
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
    tree = small_tree(tmp_path / "linux")
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
