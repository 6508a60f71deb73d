# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith prove`: install a package, boot it from a disk by firmware, and look at it."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from kernsmith.cli.console import result_console
from kernsmith.cli.output import OutputFolder
from kernsmith.errors import UserError
from kernsmith.report.terminal import say

if TYPE_CHECKING:
    from kernsmith.proof import Proof


def prove(
    package: Path,
    /,
    *,
    workload: Annotated[tuple[str, ...], Parameter(negative=())] = ("pipe", "file", "fork"),
    firmware: Literal["bios", "uefi"] = "bios",
    initramfs: Literal["initramfs-tools", "dracut"] = "initramfs-tools",
    study: Path | None = None,
    output: OutputFolder = Path("kernsmith-proof"),
    json: bool = False,
) -> int:
    """Prove a package: what was measured is what boots where it is installed.

    A fresh Debian (mmdebstrap) gets the package by dpkg, its own tool makes the initramfs, its own
    GRUB goes to a disk image, and firmware boots that in QEMU. Over the serial console somebody
    logs in, asks for uname -r and -v, the build id and the note in the package, and has workloads
    run. It takes some minutes; no loop device is needed.

    The exit code is 1 where something is not as the package says.

    Example:

        kernsmith prove packages/linux-image-7.3.4-web_7.3.4+kernsmith.1395ba40-1_*.deb

    Parameters
    ----------
    package
        A linux-image package that `kernsmith package` or `optimize --package deb` made.
    workload
        Workloads of `kernsmith workload list` to run there; may be given several times.
    firmware
        What boots the disk: bios (SeaBIOS, from a master boot record) or uefi (OVMF, from a GUID
        partition table with a system partition; Debian's package ovmf).
    initramfs
        What makes the initramfs: initramfs-tools, which Debian has unasked, or dracut.
    study
        A report's study.json: the kernel must be one of its variants'.
    output
        The folder for console.log.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.guest.workloads import load_catalogue
    from kernsmith.proof import prove as prove_package

    asked = load_catalogue().select(workload)
    if others := [each.name for each in asked if each.initramfs is not None]:
        raise UserError(
            f"--workload: {', '.join(others)} cannot run on the disk: only workloads of the guest "
            "program that is put there can"
        )
    names = [each.name for each in asked]
    variants = _build_ids(study) if study else {}
    with ProgressDisplay() as display:
        display.stage(f"proof of {package.name}")
        proof = prove_package(package, output, names, display.note, firmware, initramfs)
    variant = variants.get(proof.note.build_id, "")
    if json:
        found = asdict(proof) | {"holds": proof.holds, "variant": variant}
        sys.stdout.write(json_text.dumps(found, indent=1, default=str) + "\n")
    else:
        _show(proof, result_console())
    if study and not variant:
        raise UserError(f"{study} has no variant with the build id {proof.note.build_id}")
    return 0 if proof.holds else 1


def _build_ids(study: Path) -> dict[str, str]:
    """The names of a report's variants by their build ids."""
    from kernsmith.document import StudyDocument
    from kernsmith.document.text import read_document

    document = read_document(study)
    if not isinstance(document, StudyDocument):
        raise UserError(f"{study} is no study.json")
    return {v.provenance["build_id"]: v.name for v in document.variants if v.provenance}


def _show(proof: Proof, console: Console) -> None:
    for fact in proof.facts:
        verdict = f"  (the package says: {fact.expected})" if not fact.holds else ""
        say(console, f"{'ok' if fact.holds else 'WRONG':5}  {fact.what}: {fact.seen}{verdict}")
    say(console, f"login after {proof.seconds:.0f} s; console: {proof.console}")
