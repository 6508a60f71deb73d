# SPDX-License-Identifier: GPL-2.0-or-later
"""What a distribution's config must have besides for a study's workloads to run, told in remarks.

A shipped config, and a file of the user's, are taken as they are: what they lack is said, and the
study ends. A distribution's kernel has as modules what a guest without `modprobe` does not load:
that is built in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernsmith.guest.workloads import Workload
from kernsmith.kernel.built_in import built_in
from kernsmith.kernel.config import Added
from kernsmith.kernel.config_source import read_config
from kernsmith.kernel.source import Source
from kernsmith.study import Variant
from kernsmith.study.config_word import parse_config_word
from kernsmith.study.factors.modules import INSTALLED

_RUNS = "for the workloads of the study"


def with_needs(
    variants: Iterable[Variant], sources: Mapping[str, Source], workloads: Sequence[Workload]
) -> tuple[tuple[Variant, ...], tuple[str, ...]]:
    """The variants with what their workloads need, and sentences about all that is not as the
    distribution has it.

    sources: by the words for them. workloads: what runs on the kernels.
    """
    remarks: dict[str, None] = {}

    def completed(variant: Variant) -> Variant:
        word = parse_config_word(variant.config)
        if word.kind == "file":
            return variant
        source, said = sources[variant.source], dict(variant.options)
        config = read_config(variant.config, source)
        symbols = {**config.symbols, **said}
        needs = {need.removeprefix("CONFIG_") for each in workloads for need in each.needs}
        if variant.modules:  # the study says itself what is loaded
            loaded = {name for name, value in symbols.items() if value == "m"}
            if INSTALLED in variant.modules:
                first = (need for each in workloads for need in each.first)
                loaded -= {need.removeprefix("CONFIG_") for need in first}
            needs -= loaded
        wanted = sorted(needs - said.keys())
        found = built_in(symbols, wanted, source.path)
        told = [each for each in config.added if each.symbol not in said]
        told += [Added(name, value, _RUNS) for name, value in found.items() if name not in said]
        shown = str(replace(word, modules=Path(word.modules).name))
        remarks.update(dict.fromkeys(_sentences(shown, config.origin, told, config.only_modules)))
        for each in told[len(told) - len(found) :]:
            variant = variant.with_option(each.symbol, each.value)
        return variant

    return tuple(map(completed, variants)), tuple(remarks)


def _sentences(
    word: str, origin: str, added: Sequence[Added], only: Sequence[str] | None
) -> list[str]:
    found = [f"{word} is {origin}"]
    for reason in dict.fromkeys(each.reason for each in added):
        symbols = ", ".join(str(each) for each in added if each.reason == reason)
        found.append(f"{word}: set besides, {symbols} ({reason})")
    if only is not None:
        found.append(
            f"{word}: modules that are not on the list, which has {len(only)}, are not built"
        )
    return found
