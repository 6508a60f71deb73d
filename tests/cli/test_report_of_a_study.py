# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith report STUDY` makes of the ledger what the study's own run made."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernsmith import paths
from kernsmith.cli.report import report
from kernsmith.document import StudyDocument
from kernsmith.document.text import as_plain
from kernsmith.engine.prepare import Prepared, Refused
from kernsmith.engine.trial_rows import trial_rows
from kernsmith.engine.verdicts import Measured, judge
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel, stored_kernel
from kernsmith.kernel.source import Source
from kernsmith.ledger import BuildRow, Ledger, RunRow, now
from kernsmith.machine import find_machine
from kernsmith.report.study.document import study_document
from kernsmith.study import Design, Layout, Study, Variant, plan_trials, plan_variants
from kernsmith.study.writing import write_study
from whole_provenance import put_kernel

STUDY = Study(
    name="both",
    source="debian:7.3",
    config="micro",
    compiler="clang-22",
    factors=(("optimisation", ("O2", "O3")), ("profile", ("none", "autofdo"))),
    workloads=("pipe", "file", "signal"),
    train=("pipe", "file"),
    design=Design(layouts=6, alpha=0.01),
)
NAMED = replace(
    STUDY,
    factors=(),
    variants=(("plain", ()), ("trained", (("profile", "autofdo"),))),
    design=Design(layouts=6, until=0.5, most_layouts=6),
)


class Stored:
    """Kernels in the store: folders as builds leave them."""

    failures: dict[tuple[str, str], str]

    def __init__(self, variants: tuple[Variant, ...]) -> None:
        self.failures = {}
        self._keys = {v: f"{number:064x}"[::-1] for number, v in enumerate(variants, start=1)}
        for variant, key in self._keys.items():
            folder = paths.kernels() / key[:FOLDER_LETTERS]
            put_kernel(folder, key, **_provenance(variant))

    def kernel(self, variant: Variant) -> Kernel | None:
        return stored_kernel(self._keys[variant]) if variant in self._keys else None

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        return ()

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        return Path(f"{self._keys[variant]}-{layout}", "vmlinux") if self.kernel(variant) else None


def _provenance(variant: Variant) -> dict[str, Any]:
    words = ("compiler", "linker", "vmlinux_sha256", "build_id", "config_sha256", "built_at")
    return {
        "variant": {"name": variant.name}, "objects": 3, "seconds": 1, **dict.fromkeys(words, "x")
    }  # fmt: skip


def ran(study: Study, url: str, broken: str = "") -> StudyDocument:
    """Record a study with figures made up, and return the document of its own run.

    broken: a variant of which some runs panic, in a study of which the last variant is refused.
    """
    catalogue = load_catalogue()
    workloads, train = catalogue.select(study.workloads), catalogue.select(study.train)
    machine = find_machine(study.machine, study.cpu, dict(study.settings))
    variants = plan_variants(study, [each.name for each in train])
    source = Source("linux-7.3", Path(), "7.3", "sha256:0", study.source)
    refused = (Refused(variants[-1], "it cannot be"),) if broken else ()
    variants = tuple(v for v in variants if v not in {each.variant for each in refused})
    trials = plan_trials(study, variants, [each.name for each in workloads])
    prepared = Prepared(
        study,
        study.digest,
        {study.source: source},
        workloads,
        train,
        machine,
        machine,
        variants,
        trials,
        refused,
    )
    stored = Stored(variants)
    rows, random = trial_rows(prepared, stored), np.random.default_rng(7)
    ledger = Ledger(url)
    plan = [(row, t.variant.name, t.block, t.position) for t, row in rows.items()]
    ledger.record_study("b" * 64, study.name, write_study(study), plan)
    for each in refused:
        ledger.record_builds(
            [BuildRow("both", each.variant.name, "", "refused", each.reason, "", "")]
        )
    for trial, row in rows.items():
        gain = 0.9 if trial.variant.steps else 1.0
        cycles = 1e6 * gain * float(random.normal(1, 0.01))
        metrics = {"model_cycles": (cycles, "cycles"), "kernel_instructions": (5e5, "instructions")}
        attempt = ledger.claim(row.digest)
        assert attempt is not None
        bad = trial.variant.name == broken and trial.position % 4 == 0
        run = RunRow(
            row.digest, attempt, "panic" if bad else "ok", "it died" if bad else "", "console",
            now(), 1.0, {} if bad else metrics,
        )  # fmt: skip
        ledger.record(run)
    runs = ledger.runs(row.digest for row in rows.values())
    ledger.close()
    measured = [Measured(trial, row.digest, runs.get(row.digest)) for trial, row in rows.items()]
    return study_document(judge(prepared, stored, measured, 0.0))


def told(url: str, page: Path, **options: Any) -> dict[str, Any]:
    """The document in the page that is made from the ledger."""
    assert report("both", ledger=url, output=page, **options) == 0
    found = re.search(r'id="figures">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    document: dict[str, Any] = json.loads(unescape(found[1]))
    return document


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    return f"sqlite:///{tmp_path}/ledger.sqlite"


@pytest.mark.parametrize("study", [STUDY, NAMED])
def test_the_document_is_that_of_the_studys_own_run(url: str, tmp_path: Path, study: Study) -> None:
    own = ran(study, url)
    assert bool(own.factors) == (study is STUDY)
    assert {each.workload for each in own.verdicts} >= {"overall-trained", "overall-held-out"}
    assert told(url, tmp_path / "page.html") == as_plain(replace(own, seconds=None))
    text = (tmp_path / "page.html").read_text()
    assert ("The whole design" in text) == (study is STUDY)
    assert "signal (held out)" in text


def test_what_failed_is_told_again(url: str, tmp_path: Path) -> None:
    own = ran(STUDY, url, broken="optimisation=O3 profile=none")
    assert own.failures[0] == "refused: optimisation=O3 profile=autofdo: it cannot be"
    assert len(own.failures) > 1
    assert told(url, tmp_path / "page.html") == as_plain(replace(own, seconds=None))


def test_a_host_without_the_machine_tells_all_but_what_the_machine_presumes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ran(STUDY, url)
    monkeypatch.setenv("PATH", str(tmp_path))
    machine = replace(own.machine, assumptions=())
    measured = {name for run in own.runs for name in run.metrics}
    metrics = tuple(each for each in own.metrics if each.name in measured)
    expected = as_plain(replace(own, machine=machine, metrics=metrics, seconds=None))
    assert told(url, tmp_path / "page.html") == expected
