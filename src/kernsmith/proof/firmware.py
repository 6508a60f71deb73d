# SPDX-License-Identifier: GPL-2.0-or-later
"""What starts a disk: a PC's BIOS or UEFI, each with the GRUB that it loads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernsmith.arch import find_arch
from kernsmith.errors import ProgramMissing
from kernsmith.proof import guid_partition_table, master_boot_record

# Debian's package ovmf; without Secure Boot.
_OVMF = Path("/usr/share/OVMF")
_CODE, _VARIABLES = "OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"

# GRUB reads no further files than its configuration and the kernel's.
_MODULES = "ext2 normal linux configfile serial terminal"


@dataclass(frozen=True)
class Firmware:
    """One of the two.

    packages: Debian's, that have its GRUB. needs: config symbols without which a kernel does not
        boot by it. root: the device of the root.
    install: shell commands that make GRUB's image, in the new root's folder. pack: those that take
        it out of the folder `root`.
    write: makes the disk from what was taken out, which is in a folder: (disk, folder, root).
    options: QEMU's, with a folder for what the firmware writes.
    """

    name: str
    packages: tuple[str, ...]
    needs: tuple[str, ...]
    root: str
    install: str
    pack: str
    write: Callable[[Path, Path, Path], None]
    options: Callable[[Path], list[str]]


def _write_bios(disk: Path, folder: Path, root: Path) -> None:
    boot, core = ((folder / name).read_bytes() for name in ("boot.img", "core.img"))
    master_boot_record.write_disk(disk, boot, core, root)


def _write_uefi(disk: Path, folder: Path, root: Path) -> None:
    guid_partition_table.write_disk(disk, folder / "system.img", root)


def _options_of_ovmf(folder: Path) -> list[str]:
    """Raises ProgramMissing: OVMF is not installed."""
    code, variables = _OVMF / _CODE, folder / _VARIABLES
    if not code.is_file():
        raise ProgramMissing(str(code), "sudo apt-get install ovmf")
    shutil.copyfile(_OVMF / _VARIABLES, variables)
    return [
        "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={code}",
        "-drive", f"if=pflash,unit=1,format=raw,file={str(variables).replace(',', ',,')}",
    ]  # fmt: skip


FIRMWARE = {
    each.name: each
    for each in (
        Firmware(
            "bios",
            ("grub-pc-bin",),
            (),
            "/dev/vda1",
            f"""\
chroot . grub-mkimage --format=i386-pc --output=/boot/grub/core.img \\
    --prefix='(hd0,msdos1)/boot/grub' biosdisk part_msdos {_MODULES}
""",
            """\
cp root/usr/lib/grub/i386-pc/boot.img root/boot/grub/core.img .
chmod 644 boot.img core.img
""",
            _write_bios,
            lambda folder: [],
        ),
        Firmware(
            "uefi",
            ("dosfstools", f"grub-efi-{find_arch().target.debian}-bin", "mtools"),
            ("ACPI", "EFI", "EFI_STUB"),
            "/dev/vda2",
            f"""\
chroot . grub-mkimage --format=x86_64-efi --output=/boot/grub/grub.efi \\
    --prefix='(hd0,gpt2)/boot/grub' part_gpt {_MODULES}
truncate --size=64M boot/system.img
chroot . mkfs.vfat -F 32 -n SYSTEM /boot/system.img > /dev/null
chroot . mmd -i /boot/system.img ::/EFI ::/EFI/BOOT
chroot . mcopy -i /boot/system.img /boot/grub/grub.efi ::/EFI/BOOT/BOOTX64.EFI
""",
            """\
mv root/boot/system.img .
chmod 644 system.img
""",
            _write_uefi,
            _options_of_ovmf,
        ),
    )
}
"""By name. `uefi`: GRUB lies where firmware looks on a disk that nobody has told it of."""
