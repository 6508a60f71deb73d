# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile coverage`: which lines of a kernel's source ran, and how often."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.cli.output import NewFile, OutputFolder, check_outputs
from kernsmith.errors import UserError

if TYPE_CHECKING:
    from kernsmith.profile import BranchCounts
    from kernsmith.profile.coverage import Coverage

INDEX, BESIDE = "index.html", "coverage"


def coverage(
    counts: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    /,
    *,
    study: Path | None = None,
    kernel: str = "",
    source: Path | None = None,
    output: OutputFolder | None = None,
    lcov: NewFile | None = None,
    pprof: NewFile | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Show which lines of a kernel's source ran, how often, and how hot they are.

    --output is a folder of pages, one for each source file of which something ran, with an index
    that can be searched. They need no server: open FOLDER/index.html. Of a line, the count is that
    of its instruction that was executed most, in each copy of its function, and copies are added.

    Examples:

        kernsmith profile coverage pipe.counts -o coverage

        kernsmith profile coverage --study kernsmith-results/optimize-lab-1a2b3c4d

        kernsmith profile coverage web.counts --kernel vmlinux --source ~/linux -o coverage

        kernsmith profile coverage pipe.counts --lcov pipe.info --pprof pipe.pb.gz

        go tool pprof -top pipe.pb.gz

    Parameters
    ----------
    counts
        Files of counts (kernsmith profile record --counts, or convert --to counts); several are
        merged, each with the same weight.
    study
        Instead of counts: the folder of a study's result, or its study.json; shows what its first
        profile was trained on. Where neither -o, --lcov nor --pprof is given, pages go to coverage/
        beside its report, which then leads to them.
    kernel
        The vmlinux that they are of, with line tables, or a kernel that kernsmith built; default:
        the kernel in the cache that has their build id.
    source
        The folder of the kernel's source; default: the one that the kernel was built from.
    output
        The folder for pages: absent, empty, or with pages of before, which are replaced; default:
        with --study and nothing else to write, coverage/ beside its report.
    lcov
        A file for lcov's genhtml, for editors, and for services of CI.
    pprof
        A file for pprof; its stacks are of what was inlined into what.
    json
        Print the result as JSON.
    """
    from kernsmith.files import replacing, write_text
    from kernsmith.profile import merge_files
    from kernsmith.profile.coverage import cover, find_texts, lcov_text, pprof_bytes
    from kernsmith.report.coverage.pages import write_pages

    if study and counts:
        raise UserError("give files of counts, or --study, not both")
    if study:
        study = study / "study.json" if study.is_dir() else study
        counts = (_trained(study),)
        if lcov is None and pprof is None:
            output = output or study.parent / BESIDE
    if output is None and lcov is None and pprof is None:
        raise UserError("nothing to write: give -o FOLDER, --lcov FILE, or --pprof FILE")
    if not counts:
        raise UserError("nothing to show: name files of counts, or give --study FOLDER")
    check_outputs([output, lcov, pprof], [*counts, *([study] if study else [])])
    read = merge_files(counts)
    vmlinux = _vmlinux(read, kernel)
    check_outputs([lcov, pprof], [vmlinux])
    found = cover(read, vmlinux)
    texts = find_texts(found, vmlinux, source)
    missing = 0
    if output is not None:
        missing = write_pages(found, texts.lines, output, _title(found))
        if study and output.resolve() == (study.parent / BESIDE).resolve():
            _link(study)
    if lcov is not None:
        write_text(lcov, lcov_text(found, texts.path))
    if pprof is not None:
        with replacing(pprof) as place:
            place.write_bytes(pprof_bytes(found))
    document = _document(found, missing)
    written = {"index": output and output / INDEX, "lcov": lcov, "pprof": pprof}
    document |= {name: str(path.absolute()) for name, path in written.items() if path}
    if json:
        sys.stdout.write(json_text.dumps({"version": 1} | document, indent=1) + "\n")
        return 0
    _print(document)
    return 0


def _trained(study: Path) -> Path:
    """The counts of a study's training."""
    from kernsmith.document import StudyDocument
    from kernsmith.document.text import read_document

    document = read_document(study)
    hottest = document.hottest if isinstance(document, StudyDocument) else None
    if hottest is None:
        raise UserError(f"{study} has no training: give files of counts")
    counts = Path(hottest.counts)
    if not counts.exists():
        raise UserError(
            f"the counts of {study} are no longer in {counts}: run the study again, or record them "
            "with kernsmith profile record"
        )
    return counts


def _link(study: Path) -> None:
    """Make the report of a study again, which now finds the pages beside it."""
    from kernsmith.cli.report import result_page
    from kernsmith.document.text import read_document
    from kernsmith.files import write_text
    from kernsmith.report.study.hottest import coverage_beside

    report = study.with_name("report.html")
    write_text(report, result_page(read_document(study), coverage_beside(report)))


def _vmlinux(counts: BranchCounts, kernel: str) -> Path:
    """The image that counts are of."""
    from kernsmith.kernel.artifact import named_vmlinux
    from kernsmith.profile.coverage import counted_kernel

    if kernel:
        return named_vmlinux(kernel)
    known = counted_kernel(counts.build_id)
    if known is None:
        raise UserError(
            f"no kernel in the cache has the build id {counts.build_id or 'absent'} of these "
            "counts: give the vmlinux with --kernel"
        )
    return known.vmlinux


def _title(found: Coverage) -> str:
    names = ", ".join(found.workloads[:4]) + (", …" if len(found.workloads) > 4 else "")
    return names or f"kernel {found.build_id[:12]}"


def _document(found: Coverage, missing: int) -> dict[str, int | str]:
    return {
        "files": len(found.files),
        "files_without_text": missing,
        "functions": sum(function.executed > 0 for function in found.functions),
        "lines": sum(len(file.lines) for file in found.files),
        "lines_that_ran": sum(file.ran for file in found.files),
    }


def _print(document: dict[str, int | str]) -> None:
    print(
        f"{document['lines_that_ran']:,} of {document['lines']:,} lines with code ran, in "
        f"{document['files']:,} files and {document['functions']:,} functions"
    )
    if document["files_without_text"]:
        print(f"note:  {document['files_without_text']} files are not in the source")
    for name in ("index", "lcov", "pprof"):
        if name in document:
            print(f"{name + ':':6} {document[name]}")
