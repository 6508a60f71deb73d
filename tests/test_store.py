# SPDX-License-Identifier: GPL-2.0-or-later
"""What the store holds is found by key, shown by kind, and removed when nobody uses it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.files import locked
from kernsmith.store import KINDS, Store


def filled(root: Path) -> Store:
    for name, size in {
        "kernels/aaa/vmlinux": 8192,
        "kernels/aaa/layouts/random-1/vmlinux": 4096,
        "kernels/aaa/layouts/.random-1.lock": 0,
        "kernels/aaa/lock": 0,
        "kernels/bbb/vmlinux": 4096,
        "runs/own/trial/1/console.log": 4096,
        "sources/debian-7.3/tree/Kconfig": 4096,
        "sources/debian-9.9.part/tree/Kconfig": 4096,
        "sources/locks/debian-7.3": 0,
        "sources/locks/debian-9.9": 0,
        "roots/0123/root.squashfs": 4096,
        "roots/trixie-1.json": 4096,
        "roots/trixie-1.lock": 0,
        "roots/trixie-1.image.log": 4096,
        "toolchains/gcc-15.part/usr/bin/gcc": 4096,
        "toolchains/lock": 0,
        "programs/traces/0a1b.trace": 4096,
        "programs/times-a-processor.csv": 4096,
        "ledger.sqlite": 4096,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    return Store(root)


KEPT = {
    "kernels/aaa", "kernels/bbb", "kernels/aaa/layouts/random-1", "runs/own/trial",
    "sources/debian-7.3", "sources/debian-9.9.part", "roots/0123", "roots/trixie-1.json",
    "toolchains/gcc-15.part", "programs/traces/0a1b.trace",
}  # fmt: skip
"""What is in it."""


def kept(store: Store) -> set[str]:
    return {entry.key for entry in store.entries()}


def test_keys_and_paths_are_two_words_for_one_thing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.path("kernels/aaa/vmlinux") == tmp_path / "kernels/aaa/vmlinux"
    assert store.key(tmp_path / "runs/a") == "runs/a"
    with pytest.raises(UserError, match="not in the store"):
        store.key(Path("/etc/passwd"))
    for key in ("/etc/passwd", "kernels/../../x", ""):
        with pytest.raises(UserError, match="is no key"):
            store.path(key)


def test_entries_tell_what_each_kind_takes_up(tmp_path: Path) -> None:
    store = filled(tmp_path)
    sizes = {entry.key: entry.size for entry in store.entries()}
    assert sizes == dict.fromkeys(KEPT, 4096) | {"kernels/aaa": 8192}
    assert [entry.kind for entry in store.entries(["consoles"])] == ["consoles"]


def test_a_kernel_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    store = filled(tmp_path)
    kernel = next(entry for entry in store.entries() if entry.key == "kernels/aaa")
    assert store.remove(kernel)
    assert kept(store) == {key for key in KEPT if not key.startswith("kernels/aaa")}
    assert not (tmp_path / "kernels/aaa").exists()
    assert sorted(path.name for path in (tmp_path / "kernels").iterdir()) == ["bbb"]
    assert (tmp_path / "ledger.sqlite").exists()


@contextmanager
def held(call: str, path: Path) -> Iterator[None]:
    """Another process holds a lock."""
    script = "import sys, time; from pathlib import Path\n"
    script += "from kernsmith.files import locked, use, using\n"
    script += "path = Path(sys.argv[1])\n"
    script += f"{call} print('held', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.kill()


@pytest.mark.parametrize(
    ("key", "lock"),
    [
        ("kernels/aaa", "kernels/aaa/lock"),
        ("kernels/aaa/layouts/random-1", "kernels/aaa/layouts/.random-1.lock"),
        ("kernels/aaa/layouts/random-1", "kernels/aaa/used"),
        ("runs/own/trial", "runs/own/used"),
        ("runs/own/trial", "runs/own/trial/1/lock"),
        ("sources/debian-7.3", "sources/locks/debian-7.3"),
        ("sources/debian-9.9.part", "sources/locks/debian-9.9"),
        ("roots/trixie-1.json", "roots/trixie-1.lock"),
        ("toolchains/gcc-15.part", "toolchains/lock"),
    ],
)
def test_what_is_in_use_stays(tmp_path: Path, key: str, lock: str) -> None:
    """The lock is that of another process, as of a build or a link that is under way."""
    store = filled(tmp_path)
    (entry,) = (entry for entry in store.entries() if entry.key == key)
    with held("with locked(path):", tmp_path / lock):
        assert not store.remove(entry)
        assert store.path(entry.key).exists()
        assert kept(store) == KEPT, "locks are no entries"
    assert store.remove(entry)
    assert key not in kept(store)


def test_consoles_are_in_use_as_long_as_their_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    script = "from kernsmith.store import new_consoles; path = new_consoles();"
    with held(script, tmp_path):
        (folder,) = (tmp_path / "runs").iterdir()
        console = folder / "trial/1/console.log"
        console.parent.mkdir(parents=True)
        console.write_text("Linux version")
        (entry,) = Store(tmp_path).entries()
        assert not Store(tmp_path).remove(entry) and console.exists()
    assert Store(tmp_path).remove(entry)


def as_any_user(script: str, root: Path) -> None:
    """Run Python as a user who is not root, as a process without its capabilities is."""
    as_user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    before = (
        "import sys; from pathlib import Path; from kernsmith.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
    )
    subprocess.run([*as_user, sys.executable, "-c", before + script, str(root)], check=True)


def test_what_this_user_may_not_remove_stays(tmp_path: Path) -> None:
    filled(tmp_path)
    folders = [tmp_path / name for name in ("kernels", "kernels/aaa", "kernels/bbb")]
    (tmp_path / "kernels/aaa/lock").chmod(0o444)
    for folder in folders:
        folder.chmod(0o555)
    as_any_user("assert not any(map(store.remove, store.entries(['kernels'])))", tmp_path)
    for folder in folders:
        folder.chmod(0o755)
    assert kept(Store(tmp_path)) == KEPT
    as_any_user("assert all(map(store.remove, store.entries(['kernels'])))", tmp_path)


@pytest.mark.parametrize("key", ["kernels/aaa", "sources/debian-7.3", "roots/0123"])
def test_so_does_what_a_process_works_with(tmp_path: Path, key: str) -> None:
    store = filled(tmp_path)
    (entry,) = (entry for entry in store.entries() if entry.key == key)
    with held("use(path);", tmp_path / key), held("use(path);", tmp_path / key):
        assert not store.remove(entry)
    assert store.remove(entry)


def test_what_nobody_has_used_for_longest_makes_room(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for at, name in enumerate(("old", "older", "new", "oldest")):
        memory = tmp_path / "snapshots" / name / "memory"
        memory.parent.mkdir(parents=True)
        memory.write_bytes(b"x" * 8192)
        for path in (memory, memory.parent):
            os.utime(path, [(3e9, 3e9), (2e9, 2e9), (4e9, 4e9), (1e9, 1e9)][at])
    store.shrink("snapshots", 4 * 8192)
    assert len(kept(store)) == 4
    script = "with using(path):"
    with held(script, tmp_path / "snapshots/older"):
        store.shrink("snapshots", 2 * 8192)
    assert kept(store) == {"snapshots/older", "snapshots/new"}, "one is in use"
    store.shrink("snapshots", 8192)
    assert kept(store) == {"snapshots/new"}


def test_what_a_killed_process_has_left_is_found_after_a_day(tmp_path: Path) -> None:
    store = filled(tmp_path)
    left = {"roots/.archive-1", "roots/.image-2", "snapshots/.removed.abc.999"}
    for key in left:
        (tmp_path / key).parent.mkdir(exist_ok=True)
        (tmp_path / key).write_bytes(b"x")
    assert kept(store) == KEPT
    for key in left:
        os.utime(tmp_path / key, (1e9, 1e9))
    assert kept(store) == KEPT | left
    assert all(store.remove(entry) for entry in list(store.entries()) if entry.key in left)
    assert kept(store) == KEPT


def test_what_is_removed_by_others_meanwhile_is_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the temporary files of compilers are."""
    store = filled(tmp_path)
    listed = os.walk(tmp_path / "kernels/aaa")
    files = [(folder, inner, [*names, ".tmp_1.o"]) for folder, inner, names in listed]
    monkeypatch.setattr(os, "walk", lambda path: iter(files))
    (entry,) = (entry for entry in store.entries(["kernels"]) if entry.key == "kernels/aaa")
    assert entry.size == 8192 + 4096


def test_a_linked_cache_is_emptied_and_stays_where_it_is(tmp_path: Path) -> None:
    store = filled(tmp_path / "cache")
    large = tmp_path / "large"
    (large / "0/1").mkdir(parents=True)
    (large / "0/1/object").write_bytes(b"x" * 8192)
    large.chmod(0o755)
    (tmp_path / "cache/ccache").symlink_to(large)
    (entry,) = store.entries(["compile-cache"])
    assert entry.size == 8192
    assert store.remove(entry)
    assert (tmp_path / "cache/ccache").readlink() == large
    assert not list(large.iterdir()) and large.stat().st_mode & 0o777 == 0o755


def test_links_that_lead_nowhere_are_entries(tmp_path: Path) -> None:
    store = filled(tmp_path)
    (tmp_path / "toolchains/gone").symlink_to("/nowhere")
    (entry,) = (entry for entry in store.entries() if entry.key == "toolchains/gone")
    assert store.remove(entry) and kept(store) == KEPT


def test_folders_that_nobody_may_write_to_are_removed(tmp_path: Path) -> None:
    filled(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    tree = tmp_path / "sources/debian-7.3/tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/b/link").symlink_to(outside)
    (tree / "a/b/nothing").symlink_to("/nowhere")
    (tree / "a/b").chmod(0o311)
    (tree / "a").chmod(0o555)
    script = "(entry,) = (e for e in store.entries() if e.key == 'sources/debian-7.3')\n"
    as_any_user(f"{script}assert store.remove(entry)", tmp_path)
    assert sorted(path.name for path in (tmp_path / "sources").iterdir()) == [
        "debian-9.9.part", "locks",
    ]  # fmt: skip
    assert outside.stat().st_mode & 0o777 == 0o755


def test_a_thing_can_be_made_again_after_it_was_removed(tmp_path: Path) -> None:
    store = filled(tmp_path)
    for entry in list(store.entries(["layouts"])):
        assert store.remove(entry)
    with locked(tmp_path / "kernels/aaa/layouts/.random-1.lock"):
        (tmp_path / "kernels/aaa/layouts/random-1").mkdir()
    assert "kernels/aaa/layouts/random-1" in kept(store)


def prune(root: Path, *words: str, expect: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", "prune", *words]
    environment = os.environ | {"KERNSMITH_CACHE": str(root)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr
    return done


def test_the_command_shows_everything_and_removes_what_is_named(tmp_path: Path) -> None:
    store = filled(tmp_path)
    shown = prune(tmp_path).stdout
    assert "44.0 KiB in all" in shown
    assert kept(store) == {
        entry["key"] for entry in json.loads(prune(tmp_path, "--json").stdout)["entries"]
    }
    old = tmp_path / "kernels/bbb"
    for path in (old / "vmlinux", old):
        os.utime(path, (1e9, 1e9))
    words = ("kernels", "--unused-for", "7d", "--yes")
    assert "removed 1 of 1: 4.0 KiB freed" in prune(tmp_path, *words).stdout
    assert "kernels/aaa" in kept(store)
    assert "kernels/bbb" not in kept(store)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--yes",), "--yes needs the kinds"),
        (("kernel",), f"allowed are {', '.join(KINDS)}"),
        (("--unused-for", "week"), "such as 7d or 12h, not 'week'"),
    ],
)
def test_mistakes_remove_nothing(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    store = filled(tmp_path)
    before = kept(store)
    assert told in " ".join(prune(tmp_path, *words, expect=2).stderr.split())
    assert kept(store) == before
