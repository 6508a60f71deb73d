# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of a study's variants before they could run, for the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernsmith.engine.maker import Maker
from kernsmith.engine.prepare import Prepared
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import text_span
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.ledger import OK, BuildRow, Ledger
from kernsmith.study import Variant
from kernsmith.study.places import short_names, short_text

FAILED = "failed"
REFUSED = "refused"


def record_builds(prepared: Prepared, forge: Maker, ledger: Ledger) -> None:
    """Record every variant: the built, those that do not build, and those that were refused."""
    names = short_names(prepared.study)
    rows = _rows(prepared, forge)
    ledger.record_builds(replace(row, reason=short_text(row.reason, names)) for row in rows)


def _rows(prepared: Prepared, forge: Maker) -> Iterator[BuildRow]:
    study = prepared.study.name
    for variant in prepared.variants:
        kernel = forge.kernel(variant)
        if kernel is None and not forge.failure(variant):
            continue  # not tried: the baseline did not build, or the user stopped
        if kernel is None:
            yield _without_kernel(study, variant, FAILED, forge.failure(variant))
            continue
        provenance = kernel.provenance
        yield BuildRow(
            study=study,
            variant=variant.name,
            kernel=kernel.key,
            status=OK,
            reason="",
            compiler=provenance["compiler"],
            linker=provenance["linker"],
            objects=provenance["objects"],
            compiled=provenance.get("compiled"),
            seconds=provenance["seconds"],
            text_bytes=provenance.get("text_bytes") or _text_bytes(kernel),
        )
    for refused in prepared.refused:
        yield _without_kernel(study, refused.variant, REFUSED, refused.reason)


def _text_bytes(kernel: Kernel) -> int:
    first, last = text_span(kernel.system_map)
    return last - first


def _without_kernel(study: str, variant: Variant, status: str, reason: str) -> BuildRow:
    toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
    return BuildRow(
        study=study,
        variant=variant.name,
        kernel="",
        status=status,
        reason=reason,
        compiler=toolchain.compiler.banner,
        linker=toolchain.linker.banner,
    )
