# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result: what was asked, what was built and run, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kernsmith.document.attribution import AttributionView
from kernsmith.document.checks import CheckView
from kernsmith.document.factors import Bounds, FactorsView
from kernsmith.document.held import HeldView
from kernsmith.document.hottest import HottestView
from kernsmith.document.luck import LuckView, MixView, TextEndView
from kernsmith.document.noise import NoiseView
from kernsmith.document.pair import ComparedView, RanksView
from kernsmith.document.proved import ProvedView
from kernsmith.document.stress import StressView
from kernsmith.document.verified import VerifiedView

OVERALL = "overall"
_OF = "overall-of-"
INSTRUCTIONS = "kernel_instructions"
MODEL_CYCLES = "model_cycles"


@dataclass(frozen=True)
class StudyView:
    """alpha: error rate. metric: what the study is about. text: the study file that repeats it."""

    name: str
    digest: str
    alpha: float
    metric: str
    text: str


@dataclass(frozen=True)
class SourceView:
    """use: the word for it in the study. digest: of its files. origin: where it comes from."""

    use: str
    name: str
    version: str
    digest: str
    origin: str


@dataclass(frozen=True)
class MachineView:
    """exact: repeated runs are equal. conditions: all that metrics depend on.

    assumptions: what its figures presume, in sentences. held: how true its CPU model is; None when
    that is not known.
    """

    name: str
    cpu: str
    exact: bool
    conditions: Mapping[str, Any]
    assumptions: tuple[str, ...] = ()
    held: HeldView | None = None


@dataclass(frozen=True)
class MetricView:
    """A metric of the catalogue.

    headline: shown over the whole mix. meaning: what it is a figure of (`counted`, `modelled`,
    `virtual` or `real`; empty in documents that did not tell). better: `lower` or `higher`.
    """

    name: str
    unit: str
    description: str
    headline: bool
    meaning: str = ""
    better: str = "lower"


@dataclass(frozen=True)
class StepTimeView:
    """A step of the command's work, and how many seconds it took."""

    title: str
    seconds: float


@dataclass(frozen=True)
class WorkloadView:
    """trained: a profile of this study was made from it. operations, unit: what a round is, in
    numbers."""

    name: str
    description: str
    rounds: int
    trained: bool
    operations: int = 1
    unit: str = "round"


@dataclass(frozen=True)
class VariantView:
    """vmlinux, bzimage, profile: paths; None where there is none.

    provenance: what the kernel was made of and by, as in its provenance.json; None when it was not
        built.
    package_command: the shell command that makes installable packages.
    packages: paths of those that were made.
    """

    name: str
    baseline: bool
    levels: Mapping[str, str]
    source: SourceView
    vmlinux: str | None
    bzimage: str | None
    profile: str | None
    provenance: Mapping[str, Any] | None
    package_command: str | None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerdictView:
    """A variant against the baseline, on one metric of one workload or of a mix of them.

    workload: its name, or `overall`, `overall-trained`, `overall-held-out`, or `overall-of-` with
        the level of the factor `train` whose workloads it speaks of.
    ratio: variant / baseline, geometric mean over random layouts. ci, p: None of a sample of one.
    n: what the sample is of, see `StudyDocument.sample`: layouts, or boots, or pairs of these.
    layout_share: what it has of the variance of the logarithms, 0 to 1.
    half_added: 0.5 was added to all values because of zeros.
    default_*: the default layouts alone: what one binary of each would have said.
    trained: whether the profile was trained on this workload; None for mixes.
    sentence: the verdict in words.
    family: `primary` or `exploratory` (empty in documents that did not correct); tests: how many it
    has. p_corrected, ci_corrected: in it, and what `significant` is decided by.
    always_valid: the figures hold however often the study was looked at.
    model_points: of a modelled metric: how far off such a ratio is on average, in percentage
        points; None where that is not known, and of all other metrics.
    """

    variant: str
    workload: str
    metric: str
    unit: str
    ratio: float
    ci: Bounds | None
    p: float | None
    n: int
    layout_share: float | None
    significant: bool
    half_added: bool
    default_ratio: float | None
    default_baseline: float | None
    default_treated: float | None
    trained: bool | None
    sentence: str
    family: str = ""
    tests: int = 1
    p_corrected: float | None = None
    ci_corrected: Bounds | None = None
    always_valid: bool = False
    model_points: float | None = None

    @property
    def mix(self) -> bool:
        """Whether it speaks of several workloads together."""
        return self.workload.startswith(OVERALL)

    @property
    def speciality(self) -> str:
        """The level of the factor `train` whose workloads it speaks of; empty for all others."""
        return self.workload.removeprefix(_OF) if self.workload.startswith(_OF) else ""


@dataclass(frozen=True)
class RunView:
    """A trial in plan order with what it measured. trial: its digest. status: `none`: no run.

    replayed: the layout was not booted but replayed from a trace.
    """

    position: int
    block: int
    variant: str
    layout: str
    workload: str
    replicate: int
    trial: str
    status: str
    started_at: str | None
    console: str | None
    metrics: Mapping[str, float]
    replayed: bool = False


@dataclass(frozen=True)
class LookView:
    """Of a study that goes on until its interval is narrow: figures that hold whenever it stops.

    reached: the interval is as narrow as was asked. n: layouts. ci: None before it has bounds.
    """

    variant: str
    reached: bool
    n: int
    ratio: float
    ci: Bounds | None
    p: float
    sentence: str


@dataclass(frozen=True)
class PairView:
    """The same kernels and layouts on a second machine, beside what the first one has measured.

    metric: what the study is about there. remarks, failures: as of a study's document; with the
        noise of its times among the remarks.
    compared: each variant over all workloads, then on each. ranks: over layouts and workloads.
    """

    machine: MachineView
    metric: str
    metrics: tuple[MetricView, ...]
    verdicts: tuple[VerdictView, ...]
    runs: tuple[RunView, ...]
    remarks: tuple[str, ...]
    failures: tuple[str, ...]
    compared: tuple[ComparedView, ...]
    ranks: tuple[RanksView, ...]


def sample_of(boots: int) -> str:
    """What intervals are of, by how many boots of a kernel and a workload layouts share."""
    return "boots" if boots > 1 else "layouts"


@dataclass(frozen=True)
class StudyDocument:
    """All of a study's result.

    kernsmith: version of the program. source: of the baseline. seconds: wall time of the command.
    failures: sentences; empty when all went well. report: path of the HTML page.
    remarks: what was left out, added or done otherwise than asked, and why; in sentences.
    checks: replayed layouts that were booted, too; empty where all were booted.
    every: one of so many windows of each trace was replayed.
    boots: so many of each variant and workload were traced, and are what an interval is of; 1: the
        layouts are.
    hottest: None where nothing was trained. attributions: of variants whose layouts were replayed.
    stress: what each workload asks of the baseline's kernel.
    noise: of each variant, where a machine takes each time twice, or runs are repeated.
    verified: what oracles said of the baseline and of variants that are better; empty when none
        was asked.
    disturbances: of repeated runs: drifts, outliers and the like; in sentences.
    text_ends: of variants whose text ends in another large page than the baseline's.
    pair: the second machine of a study on two; None of a study on one.
    steps: what the command has done, one after the other; what it did beside is not told.
    """

    FORMAT: ClassVar[str] = "kernsmith-study"
    VERSION: ClassVar[int] = 1

    kernsmith: str
    study: StudyView
    source: SourceView
    machine: MachineView
    metrics: tuple[MetricView, ...]
    workloads: tuple[WorkloadView, ...]
    variants: tuple[VariantView, ...]
    verdicts: tuple[VerdictView, ...]
    factors: tuple[FactorsView, ...]
    runs: tuple[RunView, ...]
    sequential: tuple[LookView, ...]
    failures: tuple[str, ...]
    seconds: float | None
    luck: tuple[LuckView, ...] = ()
    mixes: tuple[MixView, ...] = ()
    report: str = ""
    checks: tuple[CheckView, ...] = ()
    every: int = 1
    boots: int = 1
    hottest: HottestView | None = None
    attributions: tuple[AttributionView, ...] = ()
    remarks: tuple[str, ...] = ()
    stress: tuple[StressView, ...] = ()
    noise: tuple[NoiseView, ...] = ()
    verified: tuple[VerifiedView, ...] = ()
    proved: tuple[ProvedView, ...] = ()
    pair: PairView | None = None
    disturbances: tuple[str, ...] = ()
    text_ends: tuple[TextEndView, ...] = ()
    steps: tuple[StepTimeView, ...] = ()

    @property
    def baseline(self) -> str:
        """Name of the variant that the others are compared with."""
        return next(variant.name for variant in self.variants if variant.baseline)

    @property
    def sample(self) -> str:
        """What intervals are of."""
        return sample_of(self.boots)

    @property
    def by_luck(self) -> str:
        """What moves one and the same kernel: layout alone, or the luck of a boot, too."""
        return "luck" if self.boots > 1 else "layout"

    def lower_is_better(self, metric: str) -> bool:
        """Of a metric that the machine does not list, too."""
        return all(each.better == "lower" for each in self.metrics if each.name == metric)

    @property
    def better(self) -> tuple[str, ...]:
        """Names of the variants that are significantly better than the baseline, on the whole."""
        lower = self.lower_is_better(self.study.metric)
        return tuple(
            verdict.variant
            for verdict in self.verdicts
            if (verdict.workload, verdict.metric) == (OVERALL, self.study.metric)
            and verdict.significant
            and (verdict.ratio < 1) == lower
        )

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the variants that are compared with the baseline."""
        names = [variant.name for variant in self.variants if not variant.baseline]
        judged = [verdict.variant for verdict in self.verdicts]
        if not judged:
            return tuple(names)
        # Folds have no verdicts of their own; all of them together have.
        return tuple(dict.fromkeys([*(name for name in names if name in judged), *judged]))

    @property
    def headlines(self) -> tuple[str, ...]:
        """The metrics that are shown over the whole mix, in the catalogue's order."""
        return tuple(metric.name for metric in self.metrics if metric.headline)

    def verdicts_of(
        self, variant: str, metric: str, *, mixes: bool | None = None
    ) -> tuple[VerdictView, ...]:
        """Of one variant and metric: all, or only those of mixes, or only those of workloads.

        What other variants were made for is left to `specialities`.
        """
        return tuple(
            verdict
            for verdict in self.verdicts
            if (verdict.variant, verdict.metric) == (variant, metric)
            and (mixes is None or verdict.mix == mixes)
            and not verdict.speciality
        )

    def specialities(self, variant: str, metric: str) -> dict[str, VerdictView]:
        """Of one variant and metric: by the level of the factor `train`, on its workloads."""
        return {
            verdict.speciality: verdict
            for verdict in self.verdicts
            if (verdict.variant, verdict.metric) == (variant, metric) and verdict.speciality
        }
