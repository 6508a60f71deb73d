# SPDX-License-Identifier: GPL-2.0-or-later
"""Factors whose levels are numbers get a curve."""

from dataclasses import replace

from documents import study_document, verdict
from kernsmith.document import StudyDocument, VerdictView
from kernsmith.report.chart_files import chart_spec, spec_svg
from kernsmith.report.study.curves import curve_charts

LEVELS = ("exact", "100", "1000", "10000")


def sampled(*levels: str, mixes: tuple[str, ...] = ("overall",)) -> StudyDocument:
    document = study_document([verdict(1.0, (0.9, 1.1))])
    baseline = next(view for view in document.variants if view.baseline)
    views = [replace(baseline, levels={"profile": "none", "period": "exact"})]
    verdicts: list[VerdictView] = []
    for place, level in enumerate(levels):
        name = f"profile=autofdo period={level}"
        own = {"profile": "autofdo", "period": level}
        views.append(replace(baseline, name=name, baseline=False, levels=own))
        for mix in mixes:
            ratio = 0.8 + place / 100
            one = verdict(ratio, (ratio - 0.01, ratio + 0.01), workload=mix)
            verdicts.append(replace(one, variant=name))
    return replace(document, variants=tuple(views), verdicts=tuple(verdicts))


def test_one_curve_with_what_is_no_number_beside_it() -> None:
    (chart,) = curve_charts(sampled(*LEVELS))
    assert chart.caption == (
        "model_cycles over period, 95 % intervals over layouts; dashed: period=exact"
    )
    spec = chart_spec(chart.chart)
    assert '"type": "log"' in spec
    for figure in ('"at": 10000.0', '"estimate": 0.83', '"level": 0.8'):
        assert figure in spec, figure
    assert spec_svg(chart.spec).startswith("<svg")


def test_what_was_trained_on_and_what_not_are_two_curves() -> None:
    (chart,) = curve_charts(sampled(*LEVELS, mixes=("overall-trained", "overall-held-out")))
    spec = chart_spec(chart.chart)
    assert "profile=autofdo, trained on" in spec
    assert "profile=autofdo, held out" in spec


def test_few_numbers_and_words_make_no_curve() -> None:
    assert curve_charts(sampled("exact", "100", "1000")) == []
    assert curve_charts(sampled("a", "b", "c", "d")) == []
    assert curve_charts(sampled("1", "2", "0", "9" * 5000)) == []
    assert curve_charts(study_document([verdict(1.0, (0.9, 1.1))])) == []


def test_the_baseline_is_a_point_and_labels_are_no_numbers() -> None:
    document = sampled("100", "1000")
    views = [
        replace(view, levels={"alignment": level})
        for view, level in zip(document.variants, ("16", "32", "64"), strict=True)
    ]
    (chart,) = curve_charts(replace(document, variants=tuple(views)))
    assert '"at": 16.0, "estimate": 1.0' in chart_spec(chart.chart)
    labels = [replace(view, levels={"label": view.levels["alignment"]}) for view in views]
    assert curve_charts(replace(document, variants=tuple(labels))) == []


def test_folds_are_a_curve_of_their_own() -> None:
    document = sampled("100", "1000", "10000")
    held = [replace(one, variant=f"{one.variant}, held out") for one in document.verdicts]
    (chart,) = curve_charts(replace(document, verdicts=(*document.verdicts, *held)))
    assert "profile=autofdo, held out" in chart_spec(chart.chart)
