# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's code in parts."""

from pathlib import Path

from kernsmith.engine.kernel_code import UNKNOWN, read_code

SYMBOLS = """\
ffffffff81000000 T _text
ffffffff81000100 t vfs_read
ffffffff81000180 t vfs_read.cold
ffffffff81000200 T vfs_write
"""


def _kernel(folder: Path) -> Path:
    """The folder of a kernel without debug information."""
    folder.mkdir()
    (folder / "System.map").write_text(SYMBOLS, encoding="utf-8")
    (folder / "vmlinux").write_bytes(b"none")
    return folder


def test_without_debug_information_functions_are_symbols(tmp_path: Path) -> None:
    code = read_code(_kernel(tmp_path / "kernel"))
    assert not code.by_source
    assert [code.symbols[part] for part in code.parts] == ["vfs_read", "vfs_read", "vfs_write"]
    assert {code.source(part) for part in code.parts} == {"vfs_read", "vfs_write"}
    assert UNKNOWN not in code.symbols


def test_workloads_that_have_loaded_no_module_share_what_was_read(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path / "kernel")
    one, other = (read_code(kernel, tmp_path / f"{name}.modules") for name in ("pipe", "fork"))
    assert one is other
