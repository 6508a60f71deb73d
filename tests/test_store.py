# SPDX-License-Identifier: GPL-2.0-or-later
"""What the store holds is found by key, shown by kind, and removed when nobody uses it."""

import json
import os
import subprocess
import sys
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
        "ledger.sqlite": 4096,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    return Store(root)


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
    assert sizes == {
        "kernels/aaa": 8192,
        "kernels/bbb": 4096,
        "kernels/aaa/layouts/random-1": 4096,
        "runs/own/trial": 4096,
    }
    assert [entry.kind for entry in store.entries(["consoles"])] == ["consoles"]


def test_a_kernel_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    store = filled(tmp_path)
    kernel = next(entry for entry in store.entries() if entry.key == "kernels/aaa")
    assert store.remove(kernel)
    assert kept(store) == {"kernels/bbb", "runs/own/trial"}
    assert not (tmp_path / "kernels/aaa").exists()
    assert sorted(path.name for path in (tmp_path / "kernels").iterdir()) == ["bbb"]
    assert (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("lock", ["kernels/aaa/lock", "kernels/aaa/layouts/.random-1.lock"])
def test_what_is_in_use_stays(tmp_path: Path, lock: str) -> None:
    """The lock is that of another process, as of a build or a link that is under way."""
    store = filled(tmp_path)
    entry = next(e for e in store.entries() if ("layouts" in lock) == (e.kind == "layouts"))
    script = "import sys, time; from pathlib import Path; from kernsmith.files import locked\n"
    script += "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", script, str(tmp_path / lock)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not store.remove(entry)
        assert store.path(entry.key).exists()
        holder.kill()
    assert store.remove(entry)


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
    assert "16.0 KiB" in shown or "20.0 KiB" in shown
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
