# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has for guests on its own processor, of hosts that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.cli import main
from kernsmith.machine import find_machine, kvm
from kernsmith.machine.kvm_host import (
    RESERVED,
    SMALL,
    TRANSPARENT,
    NoKvm,
    find_memory,
    kvm_processor,
)


def host(root: Path, *, free: str = "", transparent: str = "") -> Path:
    files = {
        "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": free,
        "sys/kernel/mm/transparent_hugepage/enabled": transparent,
    }
    for name, text in files.items():
        if text:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{text}\n")
    return root


@pytest.mark.parametrize(
    ("free", "transparent", "pages"),
    [
        ("256", "always [madvise] never", RESERVED),
        ("255", "always [madvise] never", TRANSPARENT),
        ("", "[always] madvise never", TRANSPARENT),
        ("0", "always madvise [never]", SMALL),
        ("", "", SMALL),
    ],
)
def test_memory_is_in_the_largest_pages_that_there_are(
    tmp_path: Path, free: str, transparent: str, pages: str
) -> None:
    memory = find_memory(512, host(tmp_path, free=free, transparent=transparent))
    assert memory.pages == pages
    assert bool(memory.condition.warning) == (pages == SMALL)
    options = " ".join(memory.options(512))
    assert ("hugetlb=on" in options) == (pages == RESERVED)
    assert "size=512M,prealloc=on" in options
    assert "-machine memory-backend=memory" in options


def test_a_host_without_the_device_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoKvm) as refused:
        kvm_processor(tmp_path / "kvm")
    said = str(refused.value)
    assert said.startswith("the machine kvm cannot be used here: there is no ")
    assert "modprobe kvm_intel or kvm_amd" in said
    assert "\n" not in said


def test_a_study_on_such_a_host_ends_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kvm, "kvm_processor", lambda: kvm_processor(tmp_path / "kvm"))
    with pytest.raises(SystemExit) as ended:
        main(["optimize", "--source", "/nowhere", "--with", "autofdo", "--machine", "kvm"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "the machine kvm cannot be used here" in said
    assert "/nowhere" not in said


def test_settings_are_those_of_the_machine() -> None:
    machine = find_machine("kvm", "", {"accel": "tcg"})
    assert machine.assumptions[0].startswith('accel = "tcg": QEMU emulates the processor')
    assert machine.fingerprint() == find_machine("kvm", "", {"accel": "tcg"}).fingerprint()
    for settings, told in (
        ({"accel": "xen"}, r"machine.settings.accel: input should be 'kvm' or 'tcg'"),
        ({"accel": "tcg", "processor": 4096}, r"machine.settings.processor: 4096 is none"),
        ({"slots": 2}, r"kvm has no setting slots: allowed are accel, processor, time_limit"),
    ):
        with pytest.raises(Exception, match=told):
            find_machine("kvm", "", settings)
    with pytest.raises(Exception, match=r"machine.cpu: .*simulates no CPU model: leave zen5 out"):
        find_machine("kvm", "zen5", {"accel": "tcg"})
