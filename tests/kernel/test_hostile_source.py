# SPDX-License-Identifier: GPL-2.0-or-later
"""Tarballs, repositories and folders from strangers lead out of nothing and start nothing."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.history import Repository
from kernsmith.kernel.source import resolve_source
from small_source import git_in, small_repository, small_tree


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
    tree = small_tree(tmp_path / "made" / "linux")
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
    outside = small_tree(tmp_path / "mine")
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        member = tarfile.TarInfo("linux")
        member.type, member.linkname = tarfile.SYMTYPE, str(outside)
        archive.addfile(member)
    with pytest.raises(UserError, match=r"the link linux leads out of it"):
        resolve_source(str(tarball), tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["locks"]


def test_files_behind_a_link_are_not_written(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "made" / "linux")
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
    tree = small_repository(tmp_path / "linux")
    (tree / ".gitattributes").write_text("*.c filter=x diff=x\n")
    git_in(tree, "add", "-A")
    git_in(tree, "commit", "-qm", "two")
    if setting == "hook":
        for name in ("post-index-change", "post-checkout", "reference-transaction"):
            shutil.copy(program, tree / ".git/hooks" / name)
    elif setting == "remote":
        git_in(tree, "config", "remote.o.promisor", "true")
        git_in(tree, "config", "remote.o.url", str(tree))
        git_in(tree, "config", "remote.o.uploadpack", str(program))
        git_in(tree, "config", "extensions.partialClone", "o")
        blob = git_in(tree, "rev-parse", "HEAD:kernel/fork.c")
        (tree / ".git/objects" / blob[:2] / blob[2:]).unlink()
    else:
        git_in(tree, "config", setting, str(program))
        git_in(tree, "config", "log.showSignature", "true")
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
    tree = small_repository(tmp_path / "linux")
    (tree / "mine.o").write_text("")
    (tree / ".git/info/exclude").write_text("*.o\n")
    digest = f"git-tree:{git_in(tree, 'rev-parse', 'HEAD^{tree}')}"
    assert resolve_source(str(tree), tmp_path / "cache").digest == digest
    git_in(tree, "worktree", "add", "-q", str(tmp_path / "second"))
    assert resolve_source(str(tmp_path / "second"), tmp_path / "cache").digest == digest
    git_in(tree, "rm", "-q", "--cached", "kernel/fork.c")
    assert resolve_source(str(tree), tmp_path / "cache").digest.startswith("files:")


@pytest.mark.parametrize("name", ["li nux", "$(touch canary)", "a;b", "a:b", "`x`", "a'b"])
def test_a_folder_that_make_would_expand_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"that make or a shell expands: rename it$"):
        resolve_source(str(small_tree(tmp_path / name)), tmp_path / "cache")
