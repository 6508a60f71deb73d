# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith watch`: the history of a source, and where it has become slower or faster."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.cli.amounts import read_percent
from kernsmith.cli.output import NewFile, OutputFolder
from kernsmith.errors import UserError
from kernsmith.study import Design, Study
from kernsmith.study.source_word import parse_source, path_beside
from kernsmith.study.study import DEFAULT_CPU, default_layouts_by
from kernsmith.study.unsaid import check_here, config_on, runs_on, workloads_on

if TYPE_CHECKING:
    from kernsmith.document import WatchDocument
    from kernsmith.engine.watch import Revision
    from kernsmith.kernel.history import Repository

REGRESSION = 3
TAG = "tag"
MOST_REVISIONS = 500


def watch(
    *,
    first: Annotated[str, Parameter(name="--from")],
    last: Annotated[str, Parameter(name="--to")] = "",
    every: str = "1",
    tags: str | None = None,
    source: str = ".",
    config: str = "",
    workload: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    root: Annotated[Path | None, Parameter(name="--root")] = None,
    machine: str = "tcg",
    cpu: str = DEFAULT_CPU,
    layouts: int = 16,
    metric: str = "",
    least: str = "0.1%",
    fail_above: str | None = None,
    seed: int = 1,
    compiler: str = "",
    commit_url: str = "",
    comment: NewFile | None = None,
    output: OutputFolder | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Measure a range of revisions, find where it has become slower or faster, and write a site.

    Each revision is built and measured in the same draws of random layouts. Where the mean over
    layouts seems to have changed, a test over layouts must agree, corrected for all places and
    workloads that were looked at: what only moved code is none. The site is a folder of pages that
    any server can host: one for all workloads, one for each, and the study's report.

    What was built and measured before is taken from caches and ledger: ask again when there are
    new commits, and only these cost anything. Killed at any moment, the same command goes on.

    The exit code is 0, 1 when a revision could not be built or measured, 2 for bad input, and 3
    when --fail-above is given and there is a change to the worse by more than that.

    Examples:

        kernsmith watch --source ~/linux --from v7.2 --to v7.2.20 --every tag --tags 'v7.2.*'

        kernsmith watch --source git:~/linux@v7.3 --from v7.2 --every 500

        kernsmith watch --from HEAD~20 --config micro --workload pipe --fail-above 0.5%

        kernsmith watch --from v7.3 --every 100 --comment comment.md -o site --commit-url
        https://git.example.org/linux/commit/%s

    Parameters
    ----------
    first
        The oldest revision.
    last
        The newest revision, which comes from the oldest. Default: the source's, else HEAD.
    every
        One of so many commits along first parents, or `tag`: each tag in the range. Both ends are
        measured always.
    tags
        With --every tag: which, as git writes patterns of names; default: all.
    source
        The folder of the git repository, also as git:FOLDER or git:FOLDER@NEWEST; it is only read.
    config
        A shipped config (lab, the default; micro), a fragment over tinyconfig, a full .config,
        debian:FLAVOUR (cloud-amd64), or running; see kernsmith optimize --help.
    workload
        Workloads or sets of them to measure; may be given several times. Default: lab; on the
        machine uml its own load.
    root
        A folder or an image that workloads with a root file system run in, in place of the roots
        that their files ask for (docs/root.md).
    machine
        Where kernels boot: tcg; kvm, on this processor, in time; ssh:HOST, a real machine that ssh
        leads to, likewise; or uml, where kernel code runs as a program on this processor.
    cpu
        CPU model of the tcg machine: a shipped one (`kernsmith cpu models`) or a TOML file. By
        default emeraldrapids, the one that was held against a processor.
    layouts
        Random layouts of each revision, 2 or more.
    metric
        What is looked at; default: model_cycles, or cycles or seconds on a machine without a model.
    least
        Smaller changes than this many per cent are not told, however sure they are.
    fail_above
        Exit code 3 when a change to the worse is larger than this many per cent: 0% fails on any.
    seed
        Seed of the layouts and of the order of trials.
    compiler
        The compiler's program (clang-22, gcc-12, or a path); default: the newest installed clang.
    commit_url
        Address of a commit's page, with %s for its hash or %t for its tag: the pages link there.
    comment
        A file for the result as Markdown, for a pull request or a mail.
    output
        Folder for the site; what is in it by the same names is written anew. Default:
        kernsmith-results/watch-…, by what is asked.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    limit = None if fail_above is None else read_percent("--fail-above", fail_above)
    check_here(machine)
    if not 2 <= layouts <= 10_000:
        raise UserError(f"--layouts: {layouts} is not from 2 to 10000: one layout is only luck")
    told = read_percent("--least", least)
    if tags is not None and every != TAG:
        raise UserError(f"--tags {tags!r} chooses among tags: it needs --every {TAG}")
    _check_url(commit_url, tags=every == TAG)
    from kernsmith.cli.console import result_console
    from kernsmith.document.text import as_json
    from kernsmith.engine.watch import study_of
    from kernsmith.kernel.history import Repository
    from kernsmith.report.watch.terminal import print_watch
    from kernsmith.study.file import located

    folder, newest = _read_source(source)
    repository = Repository(folder)
    revisions = _revisions(repository, first, last or newest or "HEAD", every, tags or "*")
    study = Study(
        name="watch",
        source=str(repository.folder),
        config=config_on(machine, config),
        factors=(),
        workloads=workloads_on(machine, workload),
        root=str(root.absolute()) if root else "",
        machine=machine,
        cpu=cpu,
        compiler=compiler,
        design=Design(
            layouts=layouts,
            seed=seed,
            metric=metric,
            runs=runs_on(machine),
            layouts_by=default_layouts_by(machine, "seed"),
        ),
    )
    study = located(study_of(study, repository, revisions), Path.cwd())
    asked = _Asked(told, commit_url, output, comment)
    document = _run(study, repository, revisions, asked, ledger)
    if json:
        sys.stdout.write(as_json(document))
    else:
        print_watch(document, result_console())
    if limit is not None and any(
        change_point.worse and abs(change_point.change) > limit
        for _, change_point in document.change_points
    ):
        return REGRESSION
    return 1 if document.failures else 0


@dataclass(frozen=True)
class _Asked:
    """What is to be written, and where: see `watch`. least: in per cent."""

    least: float
    commit_url: str
    output: Path | None
    comment: Path | None


def _check_url(url: str, *, tags: bool) -> None:
    if url and not (re.match(r"https?://\S+$", url) and ("%s" in url or "%t" in url)):
        raise UserError(
            f"--commit-url takes https://…%s…, with %s for the hash or %t for the tag, not {url!r}"
        )
    if "%t" in url and not tags:
        raise UserError(f"--commit-url {url}: only with --every {TAG} have all revisions a tag")


def _read_source(text: str) -> tuple[Path, str]:
    """The folder of the repository, and the newest revision, if the source has one."""
    if text.startswith("git:") and "@" not in text:
        text = text.removeprefix("git:")
    word = parse_source(text)
    if word.kind not in ("folder", "git"):
        raise UserError(
            f"--source {text!r} has no history: it takes the folder of a git repository"
        )
    return path_beside(Path.cwd(), word.path).absolute(), word.revision


def _revisions(
    repository: Repository, first: str, last: str, every: str, tags: str
) -> tuple[Revision, ...]:
    from kernsmith.engine.watch import Revision

    ends = repository.commit(first), repository.commit(last)
    if every == TAG:
        found = [Revision(commit, name) for name, commit in repository.tagged(*ends, tags)]
    else:
        if not re.fullmatch(r"[1-9]\d{0,5}", every):
            raise UserError(f"--every takes a number of commits, or {TAG}, not {every!r}")
        found = [Revision(commit) for commit in repository.between(*ends, int(every))]
    if len(found) < 2:
        raise UserError(f"{first} and {last} are one commit: there is nothing between them")
    if len(found) > MOST_REVISIONS:
        raise UserError(
            f"these are {len(found)} revisions, each of which is a kernel to build: "
            f"{MOST_REVISIONS} at most; take fewer with --every"
        )
    return tuple(found)


def _run(
    study: Study,
    repository: Repository,
    revisions: Sequence[Revision],
    asked: _Asked,
    ledger: str | None,
) -> WatchDocument:
    """Measure, and write the site and the comment."""
    from kernsmith.cli.outcome import write_watch
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine import prepare, run_study
    from kernsmith.engine.watch import watch_document
    from kernsmith.files import write_text
    from kernsmith.ledger import Ledger
    from kernsmith.report.watch.comment import watch_comment

    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            prepared = prepare(study, display)
            folder = asked.output or Path("kernsmith-results") / f"watch-{prepared.digest[:8]}"
            folder.mkdir(parents=True, exist_ok=True)
            result = run_study(prepared, opened, display, by_function=False)
    finally:
        opened.close()
    name = repository.folder.name
    found = watch_document(result, revisions, name, least=asked.least, commit_url=asked.commit_url)
    document = write_watch(found, result, folder)
    if asked.comment:
        write_text(asked.comment, watch_comment(document))
    return document
