# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pages of coverage into a folder: they work from there, without a network or a server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from kernsmith import __version__
from kernsmith.errors import UserError
from kernsmith.profile.coverage import Coverage, Stretch
from kernsmith.report.coverage.file_page import file_page
from kernsmith.report.coverage.tree import Folder, folder_tree
from kernsmith.report.coverage.words import heat, page_link, page_path, share_text
from kernsmith.report.page import embed_json

INDEX = "index.html"
_STYLE = "coverage.css"
_FILES = "files"
_HOTTEST = 50

Texts = Callable[[str], Sequence[str] | None]


def write_pages(coverage: Coverage, texts: Texts, folder: Path, title: str) -> int:
    """Write the index and a page for each file; returns how many files had no text.

    texts: the lines of a source file, if it is known. folder: absent, empty, or with pages of
        coverage, which are replaced. title: what was executed, in a few words.

    Raises:
        UserError: the folder has something else in it, or cannot be written.
    """
    try:
        _clear(folder)
        (folder / _STYLE).write_text(_resource("coverage.css"), encoding="utf-8")
        missing = 0
        template = _environment().get_template("coverage-file.html.j2")
        for number, file in enumerate(coverage.files):
            text = texts(file.path)
            missing += text is None
            path = folder / page_path(file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            page = file_page(coverage, number, text)
            path.write_text(template.render(page=page, title=title), encoding="utf-8")
        (folder / INDEX).write_text(_index(coverage, title), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or folder} cannot be written: {error.strerror}") from None
    return missing


def _clear(folder: Path) -> None:
    """Pages of an earlier time go: a file that did not run now has none."""
    folder.mkdir(parents=True, exist_ok=True)
    there = {path.name for path in folder.iterdir()}
    if there - {INDEX, _STYLE, _FILES} or (there and _STYLE not in there):
        raise UserError(f"{folder} has other files in it: give an empty folder, or a new one")
    if _FILES in there:
        shutil.rmtree(folder / _FILES)


def _index(coverage: Coverage, title: str) -> str:
    functions = coverage.functions
    hottest = sorted(
        (one for one in functions if one.executed), key=lambda one: (-one.executed, one.name)
    )
    tree = folder_tree(coverage)
    nameless = [functions[each] for each in coverage.functions_of.get(None, ())]
    template = _environment().get_template("coverage-index.html.j2")
    return template.render(
        title=title,
        coverage=coverage,
        ran=sum(file.ran for file in coverage.files),
        lines=sum(len(file.lines) for file in coverage.files),
        functions_ran=len(hottest),
        tree=tree,
        hottest=hottest[:_HOTTEST],
        nameless=nameless,
        nameless_share=coverage.share(sum(one.executed for one in nameless)),
        silent=_largest(coverage),
        found=embed_json(_searched(coverage, tree)),
        script=Markup(_resource("coverage.js")),
        version=__version__,
    )


def _largest(coverage: Coverage) -> list[tuple[str, Stretch, str]]:
    """The longest stretches that never ran, each with its file and function."""
    found = [
        (file.path, stretch, coverage.functions[stretch.function].name)
        for file in coverage.files
        for stretch in coverage.silent(file)
    ]
    found.sort(key=lambda each: (-each[1].lines, each[0], each[1].first))
    return found[:_HOTTEST]


def _searched(coverage: Coverage, tree: Folder) -> dict[str, object]:
    """What the search looks through, the hottest first: [name, share, link, where]."""

    def folders(folder: Folder) -> Iterator[Folder]:
        for inner in folder.folders:
            yield inner
            yield from folders(inner)

    entries: list[tuple[int, list[object]]] = []
    for folder in folders(tree):
        share = _shown(coverage, folder.executed)
        entries.append((folder.executed, [folder.path, share, f"#{folder.path}", "folder"]))
    for file in coverage.files:
        share = _shown(coverage, file.executed)
        entries.append((file.executed, [file.path, share, page_link(file.path), "file"]))
    for one in coverage.functions:
        if one.file is not None:
            path = coverage.files[one.file].path
            where = f"{path}:{one.line}"
            share = _shown(coverage, one.executed)
            entries.append((one.executed, [one.name, share, page_link(path, one.line), where]))
    entries.sort(key=lambda entry: -entry[0])
    return {"entries": [entry for _, entry in entries]}


def _shown(coverage: Coverage, executed: int) -> str:
    return share_text(coverage.share(executed)) or ("<0.01%" if executed else "never")


def _resource(name: str) -> str:
    return files("kernsmith.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"share": share_text, "heat": heat}
    environment.globals |= {"page_link": page_link}
    return environment
