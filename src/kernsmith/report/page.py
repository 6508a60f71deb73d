# SPDX-License-Identifier: GPL-2.0-or-later
"""One self-contained HTML page: works offline, prints, sorts, filters, follows light and dark.

    page = Page("march study", [
        Verdict("faster by 12.3 % …", kind="better"),
        Heading("Groups"),
        Table([Column("variant"), Column("mean", number=".3f", unit="s")], rows),
        Chart(box_plot(samples, "time (s)"), "Times of each variant"),
        Code("kernsmith optimize …"),
    ])
    write_page(page, Path("report.html"))

Every text is escaped; nothing in a cell can become markup or script. The page carries Vega,
Vega-Lite and Vega-Embed itself (from vl-convert) and forbids itself all network access by a
content security policy. Charts are drawn twice: as SVG in the page, which prints and needs no
script, and interactively in its place where scripts run. Pages of a site may share that script: a
file beside them, which `vega.charts_script` makes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from math import isfinite, isnan
from pathlib import Path
from re import sub
from typing import Literal

import jinja2
from markupsafe import Markup

from kernsmith.report.chart_files import chart_spec, spec_svg
from kernsmith.report.charts import AnyChart
from kernsmith.report.vega import vega_bundle


@dataclass(frozen=True)
class Link:
    """A text that leads to another page, by its way from this one."""

    text: str
    to: str


Value = str | int | float | bool | Link | None
Kind = Literal["better", "worse", "neutral", "warning"]


@dataclass(frozen=True)
class Heading:
    """A heading; level 2 appears in the table of contents, level 3 does not."""

    text: str
    level: Literal[2, 3] = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Verdict:
    """A sentence in a box; ``kind`` is shown by a word and a colour, never by colour alone."""

    text: str
    kind: Kind = "neutral"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    number: format specification for numbers (``.4g``); None for a column of text.
    unit: shown behind the title.
    """

    title: str
    number: str | None = None
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """A table that can be sorted by each column and filtered by text.

    rows: cells by column; numbers stay unrounded in the page (shown on hover, used to sort).
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    caption: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart of `kernsmith.report.charts` with its caption, which screen readers read too."""

    chart: AnyChart
    caption: str

    @cached_property
    def spec(self) -> str:
        """Its Vega-Lite specification, as JSON."""
        return chart_spec(self.chart)


@dataclass(frozen=True)
class Drawing:
    """An SVG element of its own, as wide as the page, with its caption.

    svg: from a module here that escapes every text in it.
    """

    svg: Markup
    caption: str


@dataclass(frozen=True)
class Code:
    """Preformatted text: a command, a log, a study file."""

    text: str
    caption: str = ""


@dataclass(frozen=True)
class Details:
    """Sections behind a line that opens them; opened in print."""

    summary: str
    sections: Sequence[Section]


Section = Heading | Text | Bullets | Verdict | Table | Chart | Drawing | Code | Details


@dataclass(frozen=True)
class Page:
    """What the page says, from top to bottom.

    subtitle: one line under the title (the command, the data).
    figures: JSON-able; offered as a download, every figure unrounded.
    footer: provenance; versions, commands.
    charts_file: name of a file beside the page that has what draws its charts, of
        `vega.charts_script`; empty: the page has it itself.
    """

    title: str
    sections: Sequence[Section]
    subtitle: str = ""
    figures: Mapping[str, object] | None = None
    footer: Sequence[str] = field(default_factory=tuple)
    charts_file: str = ""


_KIND_WORDS: dict[Kind, str] = {
    "better": "Better",
    "worse": "Worse",
    "neutral": "Note",
    "warning": "Caution",
}


def render_page(page: Page) -> str:
    """The page as HTML text."""
    template = _environment().get_template("page.html.j2")
    has_chart = _has_chart(page.sections)
    return template.render(
        page=page,
        bundle=_script(vega_bundle()) if has_chart and not page.charts_file else "",
        charts_file=page.charts_file if has_chart else "",
        style=Markup(_resource("page.css")),
        script=_script(_resource("page.js")),
    )


def write_page(page: Page, path: Path) -> None:
    """Renders the page and writes it.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(render_page(page), encoding="utf-8")


def _has_chart(sections: Sequence[Section]) -> bool:
    return any(
        isinstance(section, Chart)
        or (isinstance(section, Details) and _has_chart(section.sections))
        for section in sections
    )


def _resource(name: str) -> str:
    return files("kernsmith.report").joinpath("templates", name).read_text(encoding="utf-8")


def _script(code: str) -> Markup:
    """JavaScript that cannot end its element early: ``</script`` and ``<!--`` only occur in
    string literals, where a backslash changes nothing."""
    return Markup(code.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = _cell
    environment.filters["raw"] = _raw
    environment.filters["kind_word"] = kind_word
    environment.filters["slug"] = _slug
    environment.filters["svg"] = _svg
    environment.filters["spec"] = _spec
    environment.filters["json"] = embed_json
    environment.globals["name_of"] = _name_of
    return environment


def embed_json(value: object) -> Markup:
    """JSON for a ``<script type="application/json">``: no character in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _name_of(section: Section) -> str:
    return type(section).__name__.lower()


def kind_word(kind: Kind) -> str:
    """The word that stands for the colour of a verdict."""
    return _KIND_WORDS[kind]


def _slug(text: str) -> str:
    return sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"


def cell_text(value: Value, column: Column) -> str:
    """What a cell shows."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Link):
        return value.text
    if isinstance(value, str) or column.number is None:
        return str(value)
    if isinstance(value, float) and not isfinite(value):
        return "∞" if value > 0 else "-∞"
    return format(value, column.number)


def _cell(value: Value, column: Column) -> str:
    """The same with real minus signs before numbers and in exponents, and with links."""
    if isinstance(value, Link):
        return Markup('<a href="{}">{}</a>').format(value.to, value.text)
    text = cell_text(value, column)
    return text if isinstance(value, str) else text.replace("-", "−")


def _raw(value: Value) -> str:
    """What a cell is sorted by: numbers unrounded, nothing for a missing figure."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, Link):
        return value.text
    return repr(value) if isinstance(value, int | float) else str(value)


def _svg(chart: Chart) -> Markup:
    return Markup(spec_svg(chart.spec))


def _spec(chart: Chart) -> Markup:
    return embed_json(json.loads(chart.spec))
