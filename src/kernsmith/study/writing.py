# SPDX-License-Identifier: GPL-2.0-or-later
"""A Study as the text of a study file, so that it can be repeated."""

from __future__ import annotations

import json
from functools import partial

from kernsmith.study.file import usual_way
from kernsmith.study.machine_table import machine_lines
from kernsmith.study.objects_table import rule_lines
from kernsmith.study.study import Place, Study
from kernsmith.study.unsaid import runs_on


def write_study(study: Study) -> str:
    """The study as TOML text that `read_study` reads back to an equal study."""
    quote = partial(json.dumps, ensure_ascii=False)
    lines = ["[source]", f"use = {quote(study.source)}", f"config = {quote(study.config)}"]
    for key, value in (("compiler", study.compiler), ("linker", study.linker)):
        if value:
            lines.append(f"{key} = {quote(value)}")
    if study.flags:
        lines.append(f"flags = {quote(list(study.flags))}")
    if study.options:
        pairs = ", ".join(f"{symbol} = {quote(value)}" for symbol, value in study.options)
        lines.append(f"options = {{ {pairs} }}")
    own = Place(study.machine, study.cpu, study.settings, study.design.metric)
    for place in (own, *study.beside):
        lines += machine_lines(place, one_of_two=bool(study.beside))
    lines += ["", "[workloads]", f"use = {quote(list(study.workloads))}"]
    if study.train:
        lines.append(f"train = {quote(list(study.train))}")
    if study.folds:
        lines.append(f"folds = {study.folds}")
    if study.profile:
        lines.append(f"profile = {quote(study.profile)}")
    if study.root:
        lines.append(f"root = {quote(study.root)}")
    if study.factors:
        lines += ["", "[factors]"]
        lines += [f"{name} = {quote(list(levels))}" for name, levels in study.factors]
    if study.variants:
        lines += ["", "[variants]"]
        for name, levels in study.variants:
            pairs = ", ".join(f"{factor} = {quote(level)}" for factor, level in levels)
            lines.append(f"{quote(name)} = {{ {pairs} }}" if pairs else f"{quote(name)} = {{}}")
    lines += rule_lines(study.objects, study.links)
    design = study.design
    lines += ["", "[design]", f"layouts = {design.layouts}", f"replicates = {design.replicates}"]
    machines = [study.machine, *(place.machine for place in study.beside)]
    if design.runs > 1 or max(map(runs_on, machines)) > 1:
        lines.append(f"runs = {design.runs}")
    lines += [f"seed = {design.seed}", f"alpha = {design.alpha}"]
    if design.until:
        lines += [f"until = {design.until}", f"most_layouts = {design.most_layouts}"]
    if design.metric and not study.beside:
        lines.append(f"metric = {quote(design.metric)}")
    if design.pairing != "seed":
        lines.append(f"pairing = {quote(design.pairing)}")
    if design.layouts_by != usual_way(machines, design.pairing, study.settings):
        lines.append(f"layouts_by = {quote(design.layouts_by)}")
    if design.every:
        lines.append(f"every = {design.every}")
    if design.boots > 1:
        lines.append(f"boots = {design.boots}")
    if design.data:
        lines.append("data = true")
    lines.append("")
    return "\n".join(lines)
