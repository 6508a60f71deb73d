# SPDX-License-Identifier: GPL-2.0-or-later
"""Resolve every word of a study before anything is built: mistakes are told at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from kernsmith import paths
from kernsmith.engine.asked_metric import check_metric, own_metrics
from kernsmith.engine.best import asks_for_best, with_best_stack
from kernsmith.engine.carried import changes, without_absent_steps
from kernsmith.engine.events import Events
from kernsmith.engine.given_files import check_given, check_readable, check_root
from kernsmith.engine.needed import with_needs
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.config_source import check_config_word, read_config
from kernsmith.kernel.constraints import not_checked, refusal
from kernsmith.kernel.source import Source, check_source, resolve_source
from kernsmith.kernel.toolchain import default_compiler, find_toolchain
from kernsmith.kernel.toolchain.content import content_digest
from kernsmith.machine import Machine, find_machine
from kernsmith.machine.metrics import check_own_metrics
from kernsmith.machine.protocol import Choosy, Metric
from kernsmith.study import Study, Trial, Variant, digest_of, plan_trials, plan_variants
from kernsmith.study.check import check_study
from kernsmith.study.folds import in_folds
from kernsmith.study.places import short_level, short_names, without_folders, words_of
from kernsmith.study.plan import Select, repeated_variants
from kernsmith.study.source_word import parse_source
from kernsmith.study.study import DEFAULT_CPU


@dataclass(frozen=True)
class Refused:
    """A combination of levels that cannot be built, and why."""

    variant: Variant
    reason: str

    @property
    def sentence(self) -> str:
        """The combination and the reason, for people."""
        return f"refused: {self.variant.name}: {self.reason}"


@dataclass(frozen=True)
class Prepared:
    """A study whose words are all resolved.

    variants: those that can be built, the baseline first, each with its folds behind it. refused:
        the other combinations.
    sources: by the word for them in a variant.
    workloads: what is measured, in catalogue order. train: what profiles come from.
    not_checked: what could only be told by running something of a source, when it was not to be.
    remarks: what is left out, added or done otherwise than the study says, for its source is too
        old for it or a distribution's config has it otherwise; in sentences.
    trainer: the machine that training runs on (it must be able to write branch counts).
    digest: identity of the study, see `study_digest`.
    """

    study: Study
    digest: str
    sources: Mapping[str, Source]
    workloads: tuple[Workload, ...]
    train: tuple[Workload, ...]
    machine: Machine
    trainer: Machine
    variants: tuple[Variant, ...]
    trials: tuple[Trial, ...]
    refused: tuple[Refused, ...] = ()
    not_checked: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the machine measures, and behind that what the workloads tell themselves."""
        return (*self.machine.metrics, *own_metrics(self.study, self.workloads))

    @property
    def source(self) -> Source:
        """The source of the baseline."""
        return self.source_of(self.variants[0])

    def source_of(self, variant: Variant) -> Source:
        """The source that a variant is built from."""
        return self.sources[variant.source]

    def workload(self, name: str) -> Workload:
        """The measured or training workload of this name."""
        return next(w for w in (*self.workloads, *self.train) if w.name == name)

    def workload_of(self, trial: Trial) -> Workload:
        """What a trial runs, in the boot that it belongs to."""
        return replace(self.workload(trial.workload), boot=trial.boot)


def prepare(study: Study, events: Events, *, look_only: bool = False) -> Prepared:
    """Resolve sources, configs, workloads, machine, compilers and factor levels.

    Combinations of levels that cannot be built are left out, each with its reason, and those that
    are the same kernel as another one.

    look_only: run nothing that belongs to a source; what that leaves open is in `not_checked`.

    Raises:
        UserError: the first word that means nothing, with what is allowed in its place; or the
            baseline cannot be built, or nothing that could be compared with it.
    """
    check_study(study)
    if not study.compiler:
        study = replace(study, compiler=default_compiler())
    machine = find_machine(study.machine, study.cpu, dict(study.settings))
    if machine.cpu is None:  # what commands say that simulate a processor elsewhere
        study = replace(study, cpu="")
    if machine.images == "program":
        from kernsmith.engine.prepare_programs import prepare_programs

        return prepare_programs(study, machine, events)
    check_readable(study)
    words = [*study.workloads, *study.train]
    root = Path(study.root) if study.root else None
    catalogue = load_catalogue().including(words, root, events.note, look_only=look_only)
    check_root(study, catalogue)
    catalogue = catalogue.on_vcpus(study.vcpus)
    workloads = catalogue.select(study.workloads)
    _check_layouts_by(study, machine, workloads)
    _check_workloads(workloads, machine)
    trainer = machine if machine.profiles else _trainer(study)

    def select(words: Sequence[str]) -> list[str]:
        return [workload.name for workload in catalogue.select(words)]

    names = select(study.train or study.workloads)
    check_metric(study, machine, workloads)
    sources: dict[str, Source] = {}
    if asks_for_best(study):
        _check_words(study)
        sources |= resolve_sources([study.source], events)
        study = with_best_stack(study, sources[study.source], events)
    variants = _planned(study, names, select, events)
    missing = [variant.source for variant in variants if variant.source not in sources]
    sources |= resolve_sources(missing, events)
    configs = _distributions(variants, sources, events)
    study, remarks = without_absent_steps(study, sources)
    if remarks:
        variants = plan_variants(study, names, select)
    run = {each.name: each for each in (*workloads, *catalogue.select(_trained(names, variants)))}
    variants, told = with_needs(variants, sources, list(run.values()))
    remarks += told
    refused = _refused(variants, sources, study, look_only=look_only)
    _check_sampled(variants, [run[name] for name in _trained(names, variants)])
    left_open = map(not_checked, sources.values()) if look_only else ()
    for each in refused:
        events.note(each.sentence)
    without = [each.variant for each in refused]
    variants = tuple(variant for variant in variants if variant not in without)
    remarks += changes(variants, sources)
    for remark in remarks:
        events.note(remark)
    measured = [workload.name for workload in workloads]
    variants = in_folds(variants, study.folds, measured)
    train = catalogue.select(_trained(names, variants))
    trials = plan_trials(study, variants, measured)
    return Prepared(
        study, study_digest(study, sources, configs), sources, tuple(workloads), tuple(train),
        machine, trainer, variants, trials, refused,
        tuple(sentence for sentence in left_open if sentence), remarks,
    )  # fmt: skip


def _trained(names: Sequence[str], variants: Sequence[Variant]) -> list[str]:
    """The workloads that profiles come from: the study's, and those of steps of their own."""
    own = {name for variant in variants for step in variant.steps for name in step.train}
    return [*names, *own]


def _distributions(
    variants: Sequence[Variant], sources: Mapping[str, Source], events: Events
) -> dict[str, str]:
    """Digests of the configs that distributions have, by where they come from and for what."""
    found = {}
    for variant in variants:
        config = read_config(variant.config, sources[variant.source], events.note)
        if config.origin:
            content = digest_of([sorted(config.symbols.items()), config.only_modules])
            found[f"{config.origin} {sources[variant.source].digest} {content}"] = content
    return found


def resolve_sources(words: Iterable[str], events: Events) -> dict[str, Source]:
    """The sources that words name; one that is not there is told before another one is fetched."""
    named = dict.fromkeys(words)
    for word in named:
        check_source(word)
    found = {}
    for word in named:
        events.stage(f"source {word}")
        found[word] = resolve_source(word, paths.sources(), progress=events.note)
    return found


def _planned(
    study: Study, train: Sequence[str], select: Select, events: Events
) -> tuple[Variant, ...]:
    """The variants of a study, whose words all mean something here."""
    variants = plan_variants(study, train, select)
    for repeated, first in repeated_variants(study, train, select):
        events.note(f"{repeated.name} is the same kernel as {first.name}: it is left out")
    for variant in variants:
        check_config_word(variant.config)
        find_toolchain(variant.compiler, variant.linker, variant.arch)
    check_given(variants)
    return variants


def _check_words(study: Study) -> None:
    """That words for configs and compilers mean something, for which no variant is needed."""
    for factor, word in words_of(study):
        if factor == "config":
            check_config_word(word)
        elif factor == "compiler":
            find_toolchain(word, study.linker)


def _refused(
    variants: Sequence[Variant], sources: Mapping[str, Source], study: Study, *, look_only: bool
) -> tuple[Refused, ...]:
    draws = bool(study.design.layouts or study.design.until)
    reasons = [
        refusal(
            variant,
            sources[variant.source],
            layouts=bool(variant.layout.named or (draws and variant.layout.drawn)),
            look_only=look_only,
        )
        for variant in variants
    ]
    return left_out(variants, reasons)


def left_out(variants: Sequence[Variant], reasons: Sequence[str | None]) -> tuple[Refused, ...]:
    """The variants that cannot be built. reasons: of each; None of one that can.

    Raises:
        UserError: the baseline cannot be built, or nothing that could be compared with it.
    """
    if reasons[0]:
        raise UserError(f"the baseline {variants[0].name!r} cannot be built: {reasons[0]}")
    refused = tuple(Refused(v, why) for v, why in zip(variants, reasons, strict=True) if why)
    if refused and len(refused) == len(variants) - 1:
        sentences = "".join(f"\n    {each.sentence}" for each in refused)
        raise UserError(f"nothing remains to be compared with the baseline:{sentences}")
    return refused


def study_digest(
    study: Study, sources: Mapping[str, Source], configs: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Identity of a study: its words, and what is in the files that they name, wherever these lie.

    sources: by the words for them. configs: of what a distribution or the host has.
    """
    digests = {parse_source(word).path: source.digest for word, source in sources.items()}
    contents = {}
    for path, name in (names := short_names(study)).items():
        file = Path(path)
        contents[name] = digests.get(path) or (content_digest(file) if file.is_file() else "")
    contents |= _of_one_folder(sources, names)
    contents |= configs
    digest = without_folders(study).digest
    return digest_of([digest, contents]) if contents else digest


def _of_one_folder(sources: Mapping[str, Source], names: Mapping[str, str]) -> dict[str, str]:
    """Digests by word of the sources that share a folder, as two revisions of a repository do; for
    any other, the folder's name tells it."""
    count = Counter(parse_source(word).path for word in sources)
    return {
        short_level("source", word, names): source.digest
        for word, source in sources.items()
        if (path := parse_source(word).path) in names and count[path] > 1
    }


def _trainer(study: Study) -> Machine:
    """The machine that trains for one that cannot: `tcg`, which simulates no more than it must."""
    settings = dict(study.settings) if study.machine == "tcg" else {}
    settings.pop("depth", None)
    return find_machine("tcg", study.cpu or DEFAULT_CPU, settings)


def _check_layouts_by(study: Study, machine: Machine, workloads: Sequence[Workload]) -> None:
    if study.design.layouts_by != "replay":
        return
    for workload in workloads:
        if workload.vcpus > 1:
            raise UserError(
                f"design.layouts_by: a trace is of one vCPU, and the guest of {workload.name} has "
                f"{workload.vcpus}: allowed is boot (--layouts-by boot)"
            )
    if machine.cpu is None or not machine.exact:
        raise UserError(
            f"design.layouts_by: the machine {machine.name} writes no traces to replay: allowed "
            "is boot"
        )


def _check_sampled(variants: Sequence[Variant], train: Sequence[Workload]) -> None:
    if any(step.period for variant in variants for step in variant.steps):
        for workload in train:
            if workload.vcpus > 1:
                raise UserError(
                    f"samples are taken of a trace, which is of one vCPU, and the guest of "
                    f"{workload.name} has {workload.vcpus}: train on others, or on exact counts"
                )


def _check_workloads(workloads: Sequence[Workload], machine: Machine) -> None:
    reasons = map(machine.refusal, workloads) if isinstance(machine, Choosy) else ()
    for reason in filter(None, reasons):
        raise UserError(reason)
    for workload in workloads:
        check_own_metrics(workload)
