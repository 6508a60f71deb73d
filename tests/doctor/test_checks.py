# SPDX-License-Identifier: GPL-2.0-or-later
"""What the doctor says of this machine, and of machines made up for it."""

from pathlib import Path

import pytest

from kernsmith.doctor import LIMITED, MISSING, OK, branch_records, checks, examine
from kernsmith.doctor.checks import unprivileged
from kernsmith.machine import kvm_probe
from kernsmith.machine.kvm_probe import boot_probe

TCG = ["-accel", "tcg", "-cpu", "max"]


def _program(folder: Path, name: str, banner: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{banner}'\n")
    program.chmod(0o755)


def test_the_probe_boots_where_kernels_boot() -> None:
    assert boot_probe(TCG).ok


def test_a_cpu_without_long_mode_fails_where_it_is_entered() -> None:
    booted = boot_probe(["-accel", "tcg", "-cpu", "qemu32"])
    assert not booted.ok
    assert "the guest died" in booted.detail


def test_a_guest_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm_probe, "_PROBE_SECONDS", 1.0)
    booted = boot_probe([*TCG, "-S"])
    assert booted.detail == "the guest died before its first instruction: no end in time"


def test_an_option_that_qemu_refuses_is_shown() -> None:
    booted = boot_probe(["-accel", "tcg", "-plugin", "/nonexistent.so"])
    assert not booted.ok
    assert "/nonexistent.so" in booted.detail


def test_everything_that_set_up_installs_is_found() -> None:
    findings = {finding.name: finding for finding in examine()}
    missing = [finding for finding in findings.values() if finding.status == MISSING]
    assert missing == []
    assert findings["tracer"].status == OK
    assert findings["QEMU"].status == OK
    # KVM may or may not work here, but never fails without a reason and a way out.
    assert findings["KVM"].status == OK or findings["KVM"].remedy


def test_old_compilers_are_told_from_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path / "bin", "clang-14", "Debian clang version 14.0.6")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin")
    monkeypatch.setattr("os.get_exec_path", lambda: [f"{tmp_path}/bin"])
    findings = list(checks._compilers())
    assert findings[0].name == "clang-14"
    assert "too old for AutoFDO" in findings[0].detail
    assert findings[-1].status == MISSING
    assert findings[-1].detail == "no clang 19 or newer"


def test_a_missing_program_of_a_build_is_told_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("make", "bison", "bc", "perl", "tar", "xz", "gzip"):
        _program(tmp_path / "bin", name, name)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    findings = {finding.name: finding for finding in checks._build_tools()}
    assert findings["build tools"].detail.startswith("make, bison, bc, perl, tar, xz, gzip")
    assert findings["flex"].status == MISSING
    assert findings["flex"].remedy == "sudo apt-get install flex"
    assert findings["git"].status == LIMITED
    assert findings["depmod"].remedy == "sudo apt-get install kmod"


def test_a_missing_header_of_a_build_is_told_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "_HEADERS", {"stdio.h": "libc6-dev", "no/such.h": "no-such-dev"})
    findings = {finding.name: finding for finding in checks._build_tools()}
    assert findings["build tools"].detail.endswith(", stdio.h")
    assert findings["no/such.h"].status == MISSING
    assert findings["no/such.h"].remedy == "sudo apt-get install no-such-dev"


def test_roots_without_root_s_rights_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, told in ((0, OK), (1, LIMITED)):
        program = tmp_path / "unshare"
        program.write_text(f"#!/bin/sh\necho no line matching user >&2\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
        found = unprivileged("somebody")
        assert found.status == told
        assert ("no line matching user" in found.detail) == bool(status)
        assert ("--add-subuids" in found.remedy) == bool(status)


def test_branch_records_of_made_up_machines(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu arch_perfmon\n")
    absent = branch_records(tmp_path, cpuinfo)
    assert absent.status == LIMITED
    assert "no hardware PMU" in absent.detail

    caps = tmp_path / "cpu" / "caps"
    caps.mkdir(parents=True)
    assert "no branch records" in branch_records(tmp_path, cpuinfo).detail

    (caps / "branches").write_text("32\n")
    assert branch_records(tmp_path, cpuinfo).detail == "cpu: 32 branch records a sample"

    (caps / "branches").unlink()
    cpuinfo.write_text("flags\t: fpu amd_lbr_v2\n")
    assert branch_records(tmp_path, cpuinfo).status == OK
