# SPDX-License-Identifier: GPL-2.0-or-later
"""A git history with one slow commit: real kernel source, commits of known truth.

The first commit is Debian's kernel source without what the micro config never reads. Each further
commit adds a function that nobody calls to another file; one of them adds work to every write
instead. A commit on a branch of its own only pushes the entry code back. Made with git's plumbing
alone: nothing is checked out, and equal input gives equal commits.

    python tests/series.py FOLDER      # the history of docs/compare.md
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from kernsmith import paths
from kernsmith.kernel.config import read_fragment, render_config
from kernsmith.kernel.source import resolve_source

SOURCE = "debian:7.3"
COMMITS = 16
SLOW = 12
BROKEN = (10,)
_WHOLE = (
    "arch/x86", "block", "certs", "crypto", "include", "init", "io_uring", "ipc", "kernel", "lib",
    "mm", "scripts", "security", "usr", "virt", "drivers/base", "drivers/char",
    "drivers/clocksource", "drivers/cpufreq", "drivers/rtc", "drivers/thermal", "drivers/tty",
    "fs/devpts", "fs/kernfs", "fs/notify", "fs/proc", "fs/ramfs", "fs/sysfs", "net/core",
    "net/ethernet", "net/ethtool", "net/ipv4", "net/ipv6", "net/netlink", "net/packet",
    "net/sched", "net/unix", "tools/arch", "tools/build", "tools/include", "tools/lib",
    "tools/objtool", "tools/scripts",
)  # fmt: skip
_TOP_ONLY = ("", "arch", "drivers", "drivers/net", "fs", "net", "tools")
_BUILD_FILES = re.compile(r"(^|/)(Kconfig|Makefile|Kbuild)[^/]*$")

# Files of the micro kernel, in the order in which unused functions go into them: early and late
# ones in the link alternate.
_FILES = (
    "kernel/fork.c", "fs/open.c", "mm/mmap.c", "kernel/signal.c", "fs/namei.c",
    "arch/x86/kernel/process.c", "mm/memory.c", "kernel/exit.c", "fs/exec.c", "mm/vmscan.c",
    "kernel/cred.c", "fs/dcache.c", "init/main.c", "mm/slub.c", "kernel/groups.c", "fs/inode.c",
)  # fmt: skip
_HOT = "fs/read_write.c"
_HOT_PLACE = "\tif (ret > 0) {\n\t\tfsnotify_modify(file);\n\t\tadd_wchar(current, ret);\n"
_SLOW = """\
	for (unsigned int trace = 0; trace < {steps}; trace++) {{
		count = count * 31 + trace;
		asm volatile("" : "+r" (count));
	}}
"""
STEPS = 7

# Beside the others: a commit that does nothing but push the entry code back.
STUB, STUB_ON = "stub", 8
_ENTRY = "arch/x86/entry/entry_64.S"
_ENTRY_BEGINS = '.section .entry.text, "ax"\n'
_STUB = "\t.fill {size}, 1, 0xcc\t/* a stub that nobody calls */\n"
STUB_BYTES = 256


def _unused(number: int) -> str:
    """A function of a few hundred bytes, of another length for each number."""
    name = f"kernsmith_unused_{number}"
    lines = [
        f"\tx = (x ^ 0x{(number * 7919 + i) * 2654435761 % 2**32:x}UL) * (x | {i + 1});"
        for i in range(7 + 5 * (number * number % 11))
    ]
    body = "\n".join(lines)
    return (
        f"\nunsigned long {name}(unsigned long x);\n"
        f"unsigned long {name}(unsigned long x)\n{{\n{body}\n\treturn x;\n}}\n"
    )


def _is_kept(path: str) -> bool:
    folder = path.rpartition("/")[0]
    return (
        folder in _TOP_ONLY
        or _BUILD_FILES.search(path) is not None
        or any(path.startswith(f"{whole}/") for whole in _WHOLE)
    )


class _Repository:
    """A bare repository that is filled by plumbing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            "GIT_DIR": str(folder),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "A Developer"), ("EMAIL", "dev@example.org"),
                                   ("DATE", "2026-01-01T00:00:00Z"))},
        }  # fmt: skip

    def git(self, *words: str, text: bytes = b"", work_tree: Path | None = None) -> str:
        env = self._env | ({"GIT_WORK_TREE": str(work_tree)} if work_tree else {})
        done = subprocess.run(
            ["git", *words], input=text, env=env, cwd=work_tree or self.folder, check=True,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        return done.stdout.decode(errors="surrogateescape").strip()

    def commit(self, subject: str, parent: str | None) -> str:
        tree = self.git("write-tree")
        parents = ("-p", parent) if parent else ()
        return self.git("commit-tree", tree, *parents, "-m", subject)

    def change(self, path: str, text: str) -> None:
        blob = self.git("hash-object", "-w", "--stdin", text=text.encode())
        self.git("update-index", "--cacheinfo", f"100644,{blob},{path}")


def make_series(
    folder: Path,
    commits: int = COMMITS,
    slow: int = SLOW,
    broken: Collection[int] = BROKEN,
    source: str = SOURCE,
) -> list[str]:
    """A repository with commits 0 (the source itself) to `commits`; returns their hashes.

    slow: the number of the commit that adds work to every write.
    broken: numbers of commits that cannot be configured.
    """
    tree = resolve_source(source, paths.sources()).path
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    repository = _Repository(part)
    repository.git("init", "--quiet", "--bare")
    repository.git("config", "core.compression", "1")
    kept = [
        path
        for path in (str(p.relative_to(tree)) for p in sorted(tree.rglob("*")) if not p.is_dir())
        if _is_kept(path)
    ]
    names = "\0".join(kept).encode(errors="surrogateescape")
    repository.git("update-index", "--add", "-z", "--stdin", text=names, work_tree=tree)
    texts = {path: (tree / path).read_text(encoding="utf-8") for path in (*_FILES, _HOT, "Kconfig")}
    ids = [repository.commit("The source as it is", None)]
    for number in range(1, commits + 1):
        if number == slow:
            assert texts[_HOT].count(_HOT_PLACE) == 1
            texts[_HOT] = texts[_HOT].replace(_HOT_PLACE, _SLOW.format(steps=STEPS) + _HOT_PLACE)
            repository.change(_HOT, texts[_HOT])
            subject = "vfs: trace every write"
        else:
            path = _FILES[number % len(_FILES)]
            texts[path] += _unused(number)
            repository.change(path, texts[path])
            subject = f"{path}: add a function that nobody calls"
        repository.change("Kconfig", texts["Kconfig"] + "no Kconfig\n" * (number in broken))
        ids.append(repository.commit(subject, ids[-1]))
    repository.git("update-ref", "refs/heads/main", ids[-1])
    if len(ids) > STUB_ON:
        repository.git("update-ref", f"refs/heads/{STUB}", _stub(repository, tree, ids[STUB_ON]))
    repository.git("symbolic-ref", "HEAD", "refs/heads/main")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return ids


def _stub(repository: _Repository, tree: Path, parent: str) -> str:
    """A commit that pushes the entry code back."""
    text = (tree / _ENTRY).read_text(encoding="utf-8")
    assert text.count(_ENTRY_BEGINS) == 1
    repository.git("read-tree", parent)
    stub = _ENTRY_BEGINS + _STUB.format(size=STUB_BYTES)
    repository.change(_ENTRY, text.replace(_ENTRY_BEGINS, stub))
    return repository.commit("x86/entry: a stub in front of the entry code", parent)


def write_config(path: Path) -> None:
    """The micro config with the line tables of `profile=none`: all objects of the first commit
    are those of the micro kernel."""
    symbols = read_fragment("micro").symbols
    path.write_text(render_config(symbols | {"AUTOFDO_CLANG": "y"}), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=int, default=COMMITS)
    arguments = parser.parse_args()
    for number, commit in enumerate(make_series(arguments.folder, arguments.commits)):
        print(number, commit)
    write_config(arguments.folder / "series.config")
    print(arguments.folder / "series.config")


if __name__ == "__main__":
    main()
