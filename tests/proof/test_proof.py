# SPDX-License-Identifier: GPL-2.0-or-later
"""A package is installed in a fresh Debian, and boots there from a disk by firmware."""

import hashlib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from kernels import ALL, kept_kernel
from kernsmith import process
from kernsmith.cli.optimize import optimize
from kernsmith.cli.prove import prove as command
from kernsmith.document import StudyDocument
from kernsmith.document.text import read_document
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.config import read_fragment, render_config
from kernsmith.kernel.note import FORMAT, VERSION, Note
from kernsmith.kernel.package import make_packages
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.proof import Proof, prove
from kernsmith.proof import firmware as firmware_module
from kernsmith.proof.firmware import FIRMWARE
from kernsmith.proof.proof import Fact, machine
from kernsmith.study import Study, plan_variants

IMAGE = b"an image\n"


def package(folder: Path, config: str, note: bool = True) -> Path:
    """A Debian package with the files of a kernel, but none of its code."""
    root = folder / "root"
    (root / "boot").mkdir(parents=True)
    (root / "boot/vmlinuz-7.3.4").write_bytes(IMAGE)
    (root / "boot/config-7.3.4").write_text(config)
    (root / "lib/modules/7.3.4/kernsmith").mkdir(parents=True)
    told = Note("1" * 64, "7.3.4", "#1", "ab", "", hashlib.sha256(IMAGE).hexdigest(), {})
    content = {"format": FORMAT, "version": VERSION, **asdict(told)}
    if note:
        (root / "lib/modules/7.3.4/kernsmith/note.json").write_text(json.dumps(content))
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        "Package: linux-image-7.3.4\nVersion: 1\nArchitecture: amd64\nMaintainer: n <n@e>\n"
        "Description: none\n"
    )
    file = folder / "linux-image-7.3.4_1_amd64.deb"
    process.run(["dpkg-deb", "--root-owner-group", "--build", root, file], timeout=60)
    return file


def test_only_a_debian_package_of_a_kernel_is_proved(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no package of a kernel that kernsmith made"):
        prove(tmp_path / "hello_1_amd64.deb", tmp_path)
    with pytest.raises(UserError, match=r"proved in a Debian: give the \.deb"):
        prove(tmp_path / "kernel-7.3.4-1.x86_64.rpm", tmp_path)
    with pytest.raises(UserError, match="there is no package"):
        prove(tmp_path / "linux-image-7.3.4_1_amd64.deb", tmp_path)


def test_a_package_that_says_nothing_of_its_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="says nothing of its kernel"):
        prove(package(tmp_path, "", note=False), tmp_path)


def test_a_kernel_without_the_drivers_is_told_before_anything_is_installed(tmp_path: Path) -> None:
    micro = render_config(read_fragment("micro").symbols)
    with pytest.raises(UserError) as caught:
        prove(package(tmp_path, micro), tmp_path)
    assert str(caught.value).endswith(
        "its config does not set CONFIG_BLOCK, CONFIG_EXT4_FS, CONFIG_FHANDLE, CONFIG_PCI, "
        "CONFIG_VIRTIO_BLK, CONFIG_VIRTIO_PCI (the shipped config disk does)"
    )


def test_by_uefi_it_must_know_that(tmp_path: Path) -> None:
    disk = read_fragment("disk").symbols
    without = {name: value for name, value in disk.items() if name not in FIRMWARE["uefi"].needs}
    with pytest.raises(UserError) as caught:
        prove(package(tmp_path, render_config(without)), tmp_path, firmware="uefi")
    assert str(caught.value).endswith(
        "cannot boot Debian from a disk here by uefi: its config does not set CONFIG_ACPI, "
        "CONFIG_EFI, CONFIG_EFI_STUB (the shipped config disk does)"
    )


def test_the_machine_is_a_pc_that_its_firmware_starts() -> None:
    command = machine(Path("/a,b/disk.img"), "pipe:/tmp/line", FIRMWARE["bios"])
    assert "file=/a,,b/disk.img,format=raw,if=virtio" in command
    assert not {"-kernel", "-initrd", "-append"} & set(command)


def test_uefi_is_flash_of_which_it_writes_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    command = machine(folder / "disk.img", "pipe:/tmp/line", FIRMWARE["uefi"])
    code, variables = (word for word in command if word.startswith("if=pflash"))
    assert "readonly=on" in code and "readonly" not in variables
    assert f"file={tmp_path}/a,,b/" in variables
    assert (folder / "OVMF_VARS_4M.fd").stat().st_size > 0


def test_without_ovmf_it_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firmware_module, "_OVMF", tmp_path)
    with pytest.raises(UserError, match=r"is not installed here; .*apt-get install ovmf"):
        prove(package(tmp_path, ""), tmp_path, firmware="uefi")


def test_a_proof_holds_when_all_that_is_expected_is_seen() -> None:
    facts = (Fact("uname -r", "7.3.4", "7.3.4"), Fact("system", "degraded"))
    proof = Proof(Path("p.deb"), Note("1", "7.3.4", "#1", "ab", "", "", {}), facts, 1.0, Path("c"))
    assert proof.holds
    assert not replace(proof, facts=(*facts, Fact("build id", "cd", "ab"))).holds


@pytest.fixture(scope="module")
def disk_kernel(source: Source) -> Kernel:
    """The kernel of configs/disk.config, with a suffix."""
    study = Study(
        source="debian:7.3",
        config="disk",
        factors=(("profile", ("none",)),),
        options=(("LOCALVERSION", '"-web"'),),
    )
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


@pytest.mark.kernel
@pytest.mark.skipif(not os.environ.get(ALL), reason="it takes minutes: make test-all does it")
@pytest.mark.parametrize(
    ("firmware", "initramfs"),
    [("bios", "initramfs-tools"), ("uefi", "initramfs-tools"), ("bios", "dracut")],
)
def test_what_is_installed_boots_from_disk_and_is_what_was_built(
    disk_kernel: Kernel, tmp_path: Path, firmware: str, initramfs: str
) -> None:
    packages = make_packages(disk_kernel, tmp_path / "packages")
    (image,) = (path for path in packages if path.name.startswith("linux-image-7.3"))
    proof = prove(image, tmp_path, ("pipe", "fork"), firmware=firmware, initramfs=initramfs)
    assert [fact for fact in proof.facts if not fact.holds] == []
    seen = {fact.what: fact.seen for fact in proof.facts}
    assert seen["build id"] == disk_kernel.build_id
    assert seen["uname -r"].endswith("-web")
    assert seen["root"] == f"{FIRMWARE[firmware].root} ext4"
    assert {"ext4", "virtio_blk", "virtio_pci"} <= set(seen["modules"].split())
    assert seen["system"] in ("running", "degraded")


@pytest.mark.kernel
@pytest.mark.skipif(not os.environ.get(ALL), reason="it takes minutes: make test-all does it")
def test_what_is_optimized_ends_as_a_package_that_is_proved(
    disk_kernel: Kernel, tmp_path: Path
) -> None:
    """The first of its kernels is `disk_kernel`; how it is asked once more is `prove --study`."""
    report = tmp_path / "report"
    code = optimize(
        source="debian:7.3",
        config="disk",
        workload=("pipe",),
        layouts=0,
        steps="autofdo",
        suffix="web",
        package="deb",
        oracle=("none",),
        output=report,
        ledger=f"sqlite:///{tmp_path / 'ledger.db'}",
    )
    document = read_document(report / "study.json")
    assert isinstance(document, StudyDocument)
    (proved,) = document.proved
    assert (code, proved.holds, proved.failed, proved.reason) == (0, True, "", "")
    kernel = next(view for view in document.variants if not view.baseline).provenance
    assert kernel is not None
    seen = {fact.what: fact.seen for fact in proved.facts}
    assert seen["build id"] == kernel["build_id"] != disk_kernel.build_id
    assert "workload pipe" in seen
    assert Path(proved.console).is_file()
    assert "login after" in (report / "report.md").read_text()
    again = tmp_path / "again"
    study = report / "study.json"
    assert command(Path(proved.package), workload=("pipe",), study=study, output=again) == 0
