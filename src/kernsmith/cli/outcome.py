# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a study and show what came out, for every command that ends in one."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith.cli.console import result_console
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.document import (
    BisectDocument,
    BlameDocument,
    FactView,
    ProvedView,
    SharesDocument,
    StudyDocument,
    VerifiedView,
    WatchDocument,
)
from kernsmith.document import text as document_text
from kernsmith.engine import StudyResult, prepare, run_study
from kernsmith.engine.attribution import folded_stacks
from kernsmith.engine.forge import Forge
from kernsmith.engine.oracles import Oracle
from kernsmith.engine.verify import check_boots, verify
from kernsmith.errors import KernsmithError, UserError
from kernsmith.files import write_text
from kernsmith.kernel.package import make_packages
from kernsmith.kernel.package_kind import PackageKind
from kernsmith.ledger import Ledger
from kernsmith.proof.proof import CONSOLE, prove
from kernsmith.report.bisect.page import bisect_page
from kernsmith.report.blame.page import blame_markdown, blame_page
from kernsmith.report.shares.page import shares_markdown, shares_page
from kernsmith.report.study.attribution import stacks_file
from kernsmith.report.study.document import study_document
from kernsmith.report.study.hottest import coverage_beside
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.report.study.pair import pair_document
from kernsmith.report.study.terminal import print_study
from kernsmith.report.watch.site import site_files
from kernsmith.study import Study
from kernsmith.study.machines import on_each_machine


def run_and_show(
    study: Study,
    *,
    output: Path | None,
    ledger: str | None,
    as_json: bool,
    keep_traces: bool = False,
    package: PackageKind | None = None,
    proved: bool = False,
    oracles: Sequence[Oracle] = (),
    unasked: bool = False,
) -> int:
    """Run, write the report's files, print tables or JSON; see `exit_code`.

    package: what packages of the last variant are made of, when all is measured. proved: whether
    that is installed and booted. oracles: what is asked of variants that are better. unasked:
    nobody has named them: where there is no answer, that is a remark.
    """
    document = run_and_write(
        study,
        output=output,
        ledger=ledger,
        keep_traces=keep_traces,
        package=package,
        proved=proved,
        oracles=oracles,
        unasked=unasked,
    )
    show(document, as_json=as_json)
    return exit_code(document)


def run_and_write(
    study: Study,
    *,
    output: Path | None,
    ledger: str | None,
    keep_traces: bool = False,
    package: PackageKind | None = None,
    proved: bool = False,
    oracles: Sequence[Oracle] = (),
    unasked: bool = False,
) -> StudyDocument:
    """Run a study and write the report's files; returns its document."""
    if package:  # what is missing for it is known before an hour of work, not after
        package.check()
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            # All machines: one that this host does not have is known before anything is built.
            prepared = [prepare(each, display) for each in on_each_machine(study)]
            for each in prepared if oracles else ():
                check_boots(each)
            # First: a folder that cannot be written is known before an hour of work, not after.
            name = f"{study.name}-{prepared[0].digest[:8]}"
            folder = output or Path("kernsmith-results") / name
            folder.mkdir(parents=True, exist_ok=True)
            result, *others = (
                run_study(each, opened, display, keep_traces=keep_traces) for each in prepared
            )
            beside = Beside(study, others[0]) if others else None
            document = write_report(result, folder, beside)
            if oracles:
                answers = _verified(result, document.better, oracles, folder / "verify", display)
                if unasked:
                    answers = _answered(answers, display)
                document = replace(document, verified=answers)
                _write_document(document, folder)
            if package:
                broken = {answer.variant for answer in document.verified if answer.new}
                packages = _packages(result, folder / "packages", package, broken, display)
                views = (replace(v, packages=packages.get(v.name, ())) for v in document.variants)
                document = replace(document, variants=tuple(views))
                _write_document(document, folder)
                if proved and packages:
                    proofs = tuple(_proved(packages, package, folder / "proof", display))
                    document = replace(document, proved=proofs)
                    _write_document(document, folder)
            return document
    finally:
        opened.close()


@dataclass(frozen=True)
class Beside:
    """A study on two machines, and what came out on the second one."""

    study: Study
    result: StudyResult


def _packages(
    result: StudyResult,
    folder: Path,
    kind: PackageKind,
    broken: Collection[str],
    display: ProgressDisplay,
) -> dict[str, tuple[str, ...]]:
    """Make packages of the last variant that was built, unless it is one of those that do not work;
    their paths, by its name."""
    whole = [variant.name for variant in result.prepared.variants[1:] if not variant.without]
    built = [name for name in whole if name in result.kernels]
    if not built:
        return {}
    if built[-1] in broken:
        display.note(f"no packages: {built[-1]} does not work")
        return {}
    display.stage(f"package of {built[-1]}")
    kernel = result.kernels[built[-1]]
    made = make_packages(kernel, folder, kind, display.note, display.counted)
    return {built[-1]: tuple(map(str, made))}


def _proved(
    packages: Mapping[str, Sequence[str]],
    kind: PackageKind,
    folder: Path,
    display: ProgressDisplay,
) -> Iterator[ProvedView]:
    """Install and boot packages; a kernel that cannot be asked is a remark, and no failure."""
    for variant, paths in packages.items():
        package = next(path for path in map(Path, paths) if kind.is_main(path))
        display.stage(f"proof of {package.name}")
        view = ProvedView(variant, str(package), (), "", "", 0.0, str(folder / CONSOLE))
        try:
            found = prove(package, folder, progress=display.note)
        except UserError as error:
            display.note(f"not proved: {error}")
            yield replace(view, reason=str(error), console="")
        except KernsmithError as error:
            if error.of_host:
                display.note(f"not proved: {error}")
                yield replace(view, reason=str(error))
            else:
                yield replace(view, failed=str(error))
        else:
            facts = tuple(
                FactView(fact.what, fact.seen, fact.expected, fact.holds) for fact in found.facts
            )
            yield replace(view, facts=facts, seconds=found.seconds)


def _verified(
    result: StudyResult,
    better: Sequence[str],
    oracles: Sequence[Oracle],
    folder: Path,
    display: ProgressDisplay,
) -> tuple[VerifiedView, ...]:
    """Ask oracles about the baseline and the variants that are better."""
    prepared = result.prepared
    baseline, *others = prepared.variants
    asked = [variant for variant in others if variant.name in better]
    if not asked:
        display.note("no variant is better than the baseline: no oracle is asked")
        return ()
    forge = Forge(replace(prepared, variants=(baseline, *asked)), display)
    forge.find()
    return tuple(verify(forge.prepared, forge, oracles, folder, display))


def _answered(
    answers: Sequence[VerifiedView], display: ProgressDisplay
) -> tuple[VerifiedView, ...]:
    """Without variants that there is no answer about; why is noted."""
    for answer in answers:
        if answer.reason:
            display.note(f"{answer.variant}: {answer.oracle}: no answer: {answer.reason}")
    return tuple(answer for answer in answers if not answer.reason)


def write_report(result: StudyResult, folder: Path, beside: Beside | None = None) -> StudyDocument:
    """Write a result's report (HTML, Markdown), study.json, study.toml and files of stacks; returns
    its document.

    beside: the second machine's, of a study on two.
    """
    page = folder / "report.html"
    if beside:
        document = pair_document(beside.study, result, beside.result)
    else:
        document = study_document(result)
    document = replace(document, report=str(page.absolute()))
    _write_document(document, folder)
    for variant, stacks in folded_stacks(result).items():
        path = folder / stacks_file(variant)
        path.parent.mkdir(exist_ok=True)
        write_text(path, stacks)
    return document


def _write_document(document: StudyDocument, folder: Path) -> None:
    page = folder / "report.html"
    write_text(page, study_page(document, coverage=coverage_beside(page)))
    write_text(folder / "report.md", study_markdown(document))
    write_text(folder / "study.json", document_text.as_json(document))
    write_text(folder / "study.toml", document.study.text)


def write_bisect(
    document: BisectDocument, verdict: StudyResult | None, folder: Path
) -> BisectDocument:
    """Write bisect.json, bisect.html and the first bad commit's report; returns the document."""
    if verdict:
        document = replace(document, verdict=write_report(verdict, folder))
    page = folder / "bisect.html"
    document = replace(document, report=str(page.absolute()))
    write_text(page, bisect_page(document))
    write_text(folder / "bisect.json", document_text.as_json(document))
    return document


def write_blame(document: BlameDocument, folder: Path) -> BlameDocument:
    """Write blame.json, blame.md and blame.html; returns the document."""
    page = folder / "blame.html"
    document = replace(document, report=str(page.absolute()))
    write_text(page, blame_page(document))
    write_text(folder / "blame.md", blame_markdown(document))
    write_text(folder / "blame.json", document_text.as_json(document))
    return document


def write_shares(document: SharesDocument, folder: Path) -> SharesDocument:
    """Write shares.json, shares.md and shares.html; returns the document."""
    page = folder / "shares.html"
    document = replace(document, report=str(page.absolute()))
    write_text(page, shares_page(document))
    write_text(folder / "shares.md", shares_markdown(document))
    write_text(folder / "shares.json", document_text.as_json(document))
    return document


def write_watch(document: WatchDocument, result: StudyResult, folder: Path) -> WatchDocument:
    """Write the site of a history, watch.json, and the study's report; returns the document."""
    below = folder / "study"
    below.mkdir(exist_ok=True)
    write_report(result, below)
    document = replace(document, report="study/report.html", site=str(folder.absolute()))
    for name, text in site_files(document).items():
        write_text(folder / name, text)
    write_text(folder / "watch.json", document_text.as_json(document))
    return document


def show(document: StudyDocument, *, as_json: bool) -> None:
    """Print a result's tables, or all of it as JSON."""
    if as_json:
        sys.stdout.write(document_text.as_json(document))
    else:
        print_study(document, result_console())


def exit_code(document: StudyDocument) -> int:
    """0, or 1 when a trial or a variant failed, a replay is not what booting gave, a variant does
    not work, or its package is not what was measured."""
    works = all(each.works for each in document.verified)
    holds = all(each.holds for each in document.proved)
    return 0 if works and holds and not document.failures else 1
