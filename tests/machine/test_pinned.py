# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine was opened with is what it boots with, whatever is edited meanwhile."""

import json
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import UserError
from kernsmith.guest import build_initramfs, guest_program
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine import tcg as tcg_module
from kernsmith.machine.pinned import pin
from kernsmith.machine.tcg import QEMU, open_machine
from kernsmith.paths import shipped

PIPE = Workload("pipe", ("lab",), "", 20, 2, ())


def own_model(folder: Path) -> Path:
    path = folder / "skylake.toml"
    path.write_bytes(shipped("cpus", "skylake.toml").read_bytes())
    return path


def edit(model: Path) -> None:
    """Half the ways of the first cache: other figures."""
    text = model.read_text()
    assert "ways = 8" in text
    model.write_text(text.replace("ways = 8", "ways = 4", 1))


def test_a_cpu_model_that_is_edited_is_not_what_boots(tmp_path: Path) -> None:
    model = own_model(tmp_path)
    machine = open_machine(str(model))
    before = machine.fingerprint()
    edit(model)
    assert machine.fingerprint() == before
    job = Job(PIPE, tmp_path)
    booted = next(
        word.removeprefix("cpu=")
        for word in machine.command(Path("vmlinux"), job, machine.guest.path, {})[-1].split(",")
        if word.startswith("cpu=")
    )
    assert Path(booted).read_bytes() == shipped("cpus", "skylake.toml").read_bytes()
    assert open_machine(str(model)).fingerprint() != before


def test_a_guest_program_that_is_built_anew_is_not_what_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "guest"
    program.write_bytes(guest_program().read_bytes())
    monkeypatch.setattr(tcg_module, "guest_program", lambda: program)
    machine = open_machine("skylake")
    before = machine.fingerprint()
    program.write_bytes(b"another one")
    assert machine.fingerprint() == before
    assert machine.guest.path.read_bytes() == build_initramfs(guest_program())
    assert open_machine("skylake").fingerprint()["guest"] != before["guest"]


@pytest.mark.parametrize("left", [None, b"", b"ano", b"none"])
def test_a_copy_that_was_damaged_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bytes | None
) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    pinned = pin(b"some", "model.toml")
    written = pinned.path.stat().st_mtime_ns
    assert pin(b"some", "model.toml") == pinned and pinned.path.stat().st_mtime_ns == written
    pinned.path.unlink() if left is None else pinned.path.write_bytes(left)
    assert pin(b"some", "model.toml").path.read_bytes() == b"some"


@pytest.mark.kernel
def test_figures_and_digest_belong_together_when_a_model_is_edited(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    def run(model: Path, folder: str, *, edited: bool) -> Outcome:
        machine = open_machine(str(model))
        if edited:
            edit(model)
        return run_once(machine, micro_kernel.vmlinux, Job(PIPE, tmp_path / folder))

    first = run(own_model(tmp_path), "first", edited=False)
    assert first.ok
    assert run(own_model(tmp_path), "second", edited=True).metrics == first.metrics


def test_another_qemu_in_the_place_of_the_first_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tmp_path / "bin" / QEMU
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {process.find(QEMU)} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=":")
    machine = open_machine("skylake")
    wrapper.touch()  # the same content is the same program
    machine.qemu.check()
    wrapper.write_text(wrapper.read_text() + "# a new version\n")
    with pytest.raises(UserError, match="is not the program any more"):
        run_once(machine, Path("vmlinux"), Job(PIPE, tmp_path / "boot"))


def test_no_fingerprint_holds_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another cache, another folder of the model: the same machine."""
    first = open_machine("skylake").fingerprint()
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    second = open_machine(str(own_model(tmp_path))).fingerprint()
    assert second == first
    words = json.dumps(second["command"]), second["qemu"]
    assert not any("/" in word for word in words)
