# SPDX-License-Identifier: GPL-2.0-or-later
"""Study files: TOML in, a Study out. `study.writing` has the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import isfinite, prod
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)

from kernsmith.errors import UserError
from kernsmith.foreign import one_line, read_toml
from kernsmith.study.check import check_study
from kernsmith.study.factors import find_factor
from kernsmith.study.factors.protocol import file_beside
from kernsmith.study.machine_table import Machines, MachineTable, place_of
from kernsmith.study.objects_table import (
    DelegateTable,
    LinksTable,
    ObjectsTable,
    links_in,
    rules_in,
)
from kernsmith.study.source_word import path_beside
from kernsmith.study.study import (
    DEFAULT_LAYOUTS,
    MOST_DRAWN,
    MOST_LAYOUTS,
    SEEDS,
    Design,
    LayoutsBy,
    Named,
    Pairing,
    Setting,
    Study,
    default_layouts_by,
)
from kernsmith.study.unsaid import config_on, cpu_on, runs_on, workloads_on
from kernsmith.study.variant import name_of_levels


def _as_text(value: object) -> object:
    """Levels may be written as numbers or booleans: `alignment = [32, 64]`, `[true, false]`."""
    if isinstance(value, bool):
        return "y" if value else "n"
    return repr(value) if isinstance(value, int | float) else value


# Of a study file; the largest that are shipped have 4 kB.
_MOST_BYTES = 1 << 20
MOST_VARIANTS = 4096

Level = Annotated[
    str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]


class _Table(BaseModel):
    # What stands below a field describes it in the schema that editors read.
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class SourceTable(_Table):
    """[source]: what is built, and with what in every variant."""

    use: str
    """A folder, a tarball, git:FOLDER@REVISION or debian:VERSION."""
    config: str = "lab"
    """A shipped config, a fragment over tinyconfig, a complete .config, debian:FLAVOUR, running; of
    the machine uml: uml, its own."""
    compiler: str = ""
    """The compiler's program; default: the newest installed clang."""
    linker: str = ""
    """lld-22 and the like, bfd, or a path; default: the compiler's own lld, else the newest."""
    options: dict[str, Level] = Field(default_factory=dict)
    """Config symbols of every variant."""
    flags: list[str] = Field(default_factory=list)
    """Added to KCFLAGS of every variant."""


class WorkloadsTable(_Table):
    """[workloads]: what runs in the guest."""

    use: list[str] = Field(default_factory=lambda: ["lab"], min_length=1)
    """Workloads, sets of them, or files of your own workloads (TOML); of the machine uml: uml."""
    train: list[str] = Field(default_factory=list)
    """What profiles come from; default: all of `use`."""
    folds: int = Field(0, ge=0, le=1000)
    """Train in so many parts, each without some of the workloads, and judge each by these, too."""
    profile: str = ""
    """A profile to use instead of training."""
    root: str = ""
    """A folder or an image that workloads with a root file system run in, instead of their own."""


class DesignTable(_Table):
    """[design]: how often and in which order."""

    layouts: int | None = Field(None, ge=0, le=MOST_DRAWN)
    """Random layouts of each variant, besides the default one; default: 64 where they are replayed,
    8 where they are booted."""
    replicates: int = Field(1, ge=1, le=10_000)
    """Runs of each trial; of a machine that does several in a boot, boots of each layout."""
    runs: int | None = Field(None, ge=1, le=10_000)
    """Of each workload in one boot; default: 10 on kvm, else 1."""
    seed: int = Field(1, ge=SEEDS.start, lt=SEEDS.stop)
    """Of the layouts and of the order of trials."""
    alpha: float = Field(0.05, gt=0, lt=1)
    """Intervals have 1 - alpha confidence."""
    until: float = Field(0.0, ge=0, lt=100)
    """Go on until the overall interval is narrower than this many per cent; 0 is off."""
    most_layouts: int | None = Field(None, ge=2, le=10_000)
    """The limit for `until`; default: 512 where layouts are replayed, 64 where they are booted."""
    metric: str = ""
    """What `until` and the first sentence are about; default: model_cycles, else core_cycles, else
    seconds."""
    pairing: Pairing = "seed"
    """How layouts of two variants belong together."""
    layouts_by: LayoutsBy | None = None
    """How random layouts are measured: `replay` from one trace of each workload, or `boot`;
    default: replay on machines that write traces (tcg), unless pairing is `place`, their depth is
    `core`, or they have several vCPUs."""
    every: int = Field(0, ge=0, le=1000)
    """Replay one of so many windows of each trace; 1: all; default: what suits the CPU model."""
    boots: int = Field(1, ge=1, le=MOST_DRAWN)
    """Replay the layouts of each variant and workload from so many boots: the luck of a boot is in
    the interval, too."""
    data: bool = False
    """Shuffle the data of the kernel's objects, too."""


class StudyFile(_Table):
    """A whole study file."""

    source: SourceTable
    machine: Machines = Field(default_factory=lambda: [MachineTable()])
    workloads: WorkloadsTable = Field(default_factory=lambda: WorkloadsTable.model_validate({}))
    factors: dict[str, Annotated[list[Level], Field(min_length=1)]] = Field(default_factory=dict)
    variants: dict[str, dict[str, Level]] = Field(default_factory=dict)
    delegate: DelegateTable = Field(default_factory=lambda: DelegateTable.model_validate({}))
    objects: list[ObjectsTable] = Field(default_factory=list)
    links: list[LinksTable] = Field(default_factory=list)
    design: DesignTable = Field(default_factory=lambda: DesignTable.model_validate({}))


def read_study(path: Path, layouts_by: LayoutsBy | None = None) -> Study:
    """The study that a TOML file describes.

    layouts_by: in place of what the file says.

    Raises:
        UserError: the file cannot be read, or a key is unknown, missing or out of its range; the
            message names the file, the key and what is allowed.
    """
    tables = read_toml(path, "the study", _MOST_BYTES)
    design = tables.get("design", {})
    if layouts_by and isinstance(design, dict):
        own = {"boots": 1} if layouts_by == "boot" else {}  # each layout has a boot of its own
        tables["design"] = design | {"layouts_by": layouts_by} | own
    study = study_from_tables(tables, origin=str(path), name=path.stem)
    return located(study, path.absolute().parent)


def study_from_tables(tables: dict[str, Any], *, origin: str, name: str) -> Study:
    """The study in parsed TOML tables; `origin` is what errors call the file."""
    file = _validated(tables, origin)
    _check_tables(file, origin)
    first, *others = file.machine
    machine = first.use
    study = Study(
        name=name,
        source=file.source.use,
        config=_said(file.source, "config", config_on(machine)),
        compiler=file.source.compiler,
        linker=file.source.linker,
        options=tuple(sorted((_symbol(k), v) for k, v in file.source.options.items())),
        flags=tuple(word for flags in file.source.flags for word in flags.split()),
        machine=machine,
        cpu=_said(first, "cpu", cpu_on(machine)),
        settings=tuple(sorted(first.settings.items())),
        beside=tuple(place_of(table, file.design.metric) for table in others),
        workloads=tuple(_said(file.workloads, "use", workloads_on(machine))),
        train=tuple(file.workloads.train),
        folds=file.workloads.folds,
        profile=file.workloads.profile,
        root=file.workloads.root,
        factors=tuple((factor, tuple(levels)) for factor, levels in file.factors.items()),
        variants=tuple((name, tuple(levels.items())) for name, levels in file.variants.items()),
        objects=rules_in(file.objects, file.delegate),
        links=links_in(file.links, file.delegate),
        design=_design(file),
    )
    try:
        check_study(study)
    except UserError as error:
        raise UserError(f"{origin}: {error}") from None
    return study


def _said(table: BaseModel, key: str, otherwise: Any) -> Any:
    """The value of a key, where the file has it."""
    return getattr(table, key) if key in table.model_fields_set else otherwise


def _design(file: StudyFile) -> Design:
    """The design with what the file leaves open."""
    table, machines = file.design, [machine.use for machine in file.machine]
    settings = tuple(file.machine[0].settings.items())
    way = table.layouts_by or usual_way(machines, table.pairing, settings)
    said = {name: value for name, value in table.model_dump().items() if value is not None}
    layouts, most = DEFAULT_LAYOUTS[way], MOST_LAYOUTS[way]
    left_open: dict[str, Any] = {
        "layouts": min(layouts, table.most_layouts or most) if table.until else layouts,
        "most_layouts": max(most, table.layouts or layouts),
        "layouts_by": way,
        "runs": max(map(runs_on, machines)),
    }
    if file.machine[0].metric:
        said["metric"] = file.machine[0].metric
    return Design(**left_open | said)


def usual_way(
    machines: Sequence[str], pairing: Pairing, settings: Sequence[tuple[str, Setting]]
) -> LayoutsBy:
    """How layouts are measured unasked: on two machines, in the same way."""
    return "boot" if len(machines) > 1 else default_layouts_by(machines[0], pairing, settings)


def variants_in(
    tables: dict[str, Any], *, origin: str
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Named]:
    """The factors and variants of a study, also of one whose files are told by name only.

    Raises:
        UserError: the tables are those of no study file.
    """
    file = _validated(tables, origin)
    factors = tuple((name, tuple(levels)) for name, levels in file.factors.items())
    if file.variants:
        return (), tuple((name, tuple(levels.items())) for name, levels in file.variants.items())
    combined = product(*(levels for _, levels in factors))
    levels = [tuple(zip(file.factors, each, strict=True)) for each in combined]
    return factors, tuple((name_of_levels(each), each) for each in levels)


def _validated(tables: dict[str, Any], origin: str) -> StudyFile:
    try:
        return StudyFile.model_validate(tables)
    except ValidationError as error:
        raise UserError(f"{origin}: {_first_problem(error)}") from None


def _check_tables(file: StudyFile, origin: str) -> None:
    if file.factors and file.variants:
        raise UserError(
            f"{origin}: [factors] and [variants] exclude each other: all combinations of levels, "
            "or variants by name"
        )
    _check_options(file.source.options, origin)
    for key, value in (pair for each in file.machine for pair in each.settings.items()):
        if isinstance(value, float) and not isfinite(value):
            raise UserError(
                f"{origin}: machine.settings.{one_line(key)} is {value}: it must be finite"
            )
    for factor, levels in file.factors.items():
        if len(set(levels)) < len(levels):
            raise UserError(f"{origin}: factors.{one_line(factor)} names a level twice")
    count = len(file.variants) or prod(map(len, file.factors.values()))
    if count > MOST_VARIANTS:
        raise UserError(
            f"{origin}: {_number(count)} variants are more than the {MOST_VARIANTS} that a study "
            "may have"
        )
    if any(not name.strip() for name in file.variants):
        raise UserError(f"{origin}: variants: a variant needs a name")


def _check_options(options: Mapping[str, str], origin: str) -> None:
    """That none is there twice, with CONFIG_ and without it."""
    for name in options:
        if name != (symbol := _symbol(name)) and symbol in options:
            raise UserError(
                f"{origin}: source.options names one symbol twice: {one_line(symbol)} and "
                f"{one_line(name)}; leave one of them out"
            )


def located(study: Study, folder: Path) -> Study:
    """The study with the paths in it made absolute; relative ones are taken from `folder`.

    Names of shipped configs and CPU models, and Debian versions, stay as they are.
    """

    def level_of(factor: str, level: str) -> str:
        return find_factor(factor).locate(level, folder)

    return replace(
        study,
        factors=tuple(
            (factor, tuple(level_of(factor, level) for level in levels))
            for factor, levels in study.factors
        ),
        variants=tuple(
            (name, tuple((factor, level_of(factor, level)) for factor, level in levels))
            for name, levels in study.variants
        ),
        source=level_of("source", study.source),
        config=level_of("config", study.config),
        cpu=file_beside(study.cpu, folder),
        beside=tuple(replace(each, cpu=file_beside(each.cpu, folder)) for each in study.beside),
        profile=str(path_beside(folder, study.profile)) if study.profile else "",
        root=str(path_beside(folder, study.root)) if study.root else "",
        workloads=tuple(_own_beside(word, folder) for word in study.workloads),
        train=tuple(_own_beside(word, folder) for word in study.train),
    )


def _own_beside(word: str, folder: Path) -> str:
    """A word for workloads; where it is a file of the user's, its absolute path."""
    return str(path_beside(folder, word)) if word.endswith(".toml") else word


def _symbol(name: str) -> str:
    return name.removeprefix("CONFIG_")


def _number(count: int) -> str:
    return str(count) if count < 10**9 else "more than a thousand million"


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    key = one_line(".".join(str(part) for part in _asked_for(first["loc"])))
    if first["type"] == "extra_forbidden":
        allowed = ", ".join(_keys_beside(first["loc"]))
        return f"unknown key {key}: allowed are {allowed}"
    return f"{key}: {one_line(first['msg'][0].lower() + first['msg'][1:])}"


def _asked_for(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """A place as the file has it: the first machine may be the only one."""
    return ("machine", *loc[2:]) if loc[:2] == ("machine", 0) else loc


def _keys_beside(loc: tuple[int | str, ...]) -> list[str]:
    table: type[BaseModel] = StudyFile
    for part in loc[:-1]:
        if isinstance(part, int):  # one of a list of tables
            continue
        inner = table.model_fields[part].annotation
        inner = next(iter(get_args(inner)), inner) if get_origin(inner) is list else inner
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            table = inner
    return list(table.model_fields)
