# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks between processes, and files that are whole or not there."""

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernsmith.errors import DiskFull, UserError
from kernsmith.files import copy_file, locked, replacing, write_bytes, write_text

WRITES_FOR_EVER = """
import sys
from pathlib import Path
from kernsmith.files import write_bytes
for n in range(1_000_000):
    write_bytes(Path(sys.argv[1]), bytes([65 + n % 2]) * 3_000_000)
"""
HOLDS_A_LOCK = """
import sys, time
from pathlib import Path
from kernsmith.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_makes_its_folder(tmp_path: Path) -> None:
    with locked(tmp_path / "layouts" / "of" / ".lock"):
        assert (tmp_path / "layouts/of/.lock").exists()


def test_a_killed_process_gives_its_lock_back(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LOCK, str(lock)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(_take, lock)
            time.sleep(0.2)
            assert not waits.done()
            holder.send_signal(signal.SIGKILL)
            assert waits.result(timeout=30)


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "out" / "content"
    for moment in (0.05, 0.11, 0.17):
        writer = subprocess.Popen([sys.executable, "-c", WRITES_FOR_EVER, str(target)])
        while not target.exists():
            time.sleep(0.01)
        time.sleep(moment)
        writer.kill()
        writer.wait()
        content = target.read_bytes()
        assert content in (b"A" * 3_000_000, b"B" * 3_000_000)


def test_threads_that_write_one_file_do_not_share_a_temporary_one(tmp_path: Path) -> None:
    target = tmp_path / "content"
    texts = [f"{n}\n" * 50_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            list(pool.map(lambda text: write_text(target, text), texts))
            assert target.read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["content"]


def test_a_failed_writer_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "content"
    write_text(target, "old")
    with pytest.raises(ZeroDivisionError), replacing(target) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    for path in (tmp_path, Path()):
        with pytest.raises(UserError, match="is a folder: name the file that is to be written"):
            write_text(path, "new")
    assert list(tmp_path.iterdir()) == []


def test_an_error_names_the_file_and_not_a_temporary_one(tmp_path: Path) -> None:
    target = tmp_path / "content"
    with pytest.raises(FileNotFoundError) as caught, replacing(target):
        pass
    assert caught.value.filename == str(target)


def test_a_copy_has_the_content_and_the_usual_permissions(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)))
    copy_file(source, tmp_path / "new" / "target")
    usual = tmp_path / "usual"
    usual.touch()
    assert (tmp_path / "new/target").read_bytes() == source.read_bytes()
    assert (tmp_path / "new/target").stat().st_mode == usual.stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk_is_said_and_harms_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], check=False).returncode:
        pytest.skip("no mount namespaces here")
    program = (
        "from pathlib import Path; from kernsmith.files import write_bytes\n"
        "from kernsmith.errors import DiskFull\n"
        f"place = Path({str(small)!r}) / 'content'\n"
        "write_bytes(place, b'old')\n"
        "try: write_bytes(place, bytes(1 << 20))\n"
        "except DiskFull as error: print(error)\n"
        "assert place.read_bytes() == b'old' and len(list(place.parent.iterdir())) == 1\n"
    )
    script = f'mount -t tmpfs -o size=64k none {small} && exec {sys.executable} -c "$0"'
    done = subprocess.run(
        [unshare, "-m", "sh", "-c", script, program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"no space left on the disk of {small / 'content'}" in done.stdout


def test_a_device_that_is_full_is_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(DiskFull), replacing(tmp_path / "content"):
        Path("/dev/full").write_bytes(b"x")
    write_bytes(tmp_path / "content", b"x")


def _take(lock: Path) -> bool:
    with locked(lock):
        return True


def test_who_waits_for_a_lock_may_give_up(tmp_path: Path) -> None:
    looked: list[int] = []

    def waiting() -> None:
        looked.append(1)
        if len(looked) == 3:
            raise KeyboardInterrupt

    with (
        locked(tmp_path / "lock"),
        pytest.raises(KeyboardInterrupt),
        locked(tmp_path / "lock", waiting),
    ):
        raise AssertionError("two hold it")
    assert len(looked) == 3
    with locked(tmp_path / "lock", waiting):
        assert len(looked) == 3
