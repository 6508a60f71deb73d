# SPDX-License-Identifier: GPL-2.0-or-later
"""An analysis as JUnit XML, for the CI systems that show it.

A suite a stratum, a test a pair of groups. A test fails where the difference is significant,
corrected over the strata, and in the worse direction; without a test of the pair it is skipped.
There is no standard; elements and attributes are those of Jenkins' and Apache Ant's files
(github.com/jenkinsci/xunit-plugin, junit-10.xsd).
"""

from __future__ import annotations

import re
from math import isnan
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from kernsmith.report.analysis.words import pair_sentence
from kernsmith.stats.analysis import Analysis, Options, StratumAnalysis
from kernsmith.stats.pairwise import Comparison

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(analysis: Analysis) -> str:
    """The document, ended by a line end."""
    root = Element("testsuites", name=f"kernsmith analyze: {_text(analysis.options.value)}")
    for stratum in analysis.strata:
        root.append(_suite(stratum, analysis.options))
    _count(root, list(root.iter("testcase")))
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _suite(stratum: StratumAnalysis, options: Options) -> Element:
    name = _text(stratum.name or options.value)
    suite = Element("testsuite", name=name)
    for pair in stratum.comparisons:
        case = SubElement(
            suite, "testcase", classname=name, name=_text(f"{pair.b} against {pair.a}")
        )
        sentence = _text(pair_sentence(pair, options))
        if isnan(pair.p):
            SubElement(case, "skipped", message=sentence)
        elif is_worse(pair, options):
            SubElement(case, "failure", message=sentence, type="worse")
        else:
            SubElement(case, "system-out").text = sentence
    _count(suite, list(suite.iter("testcase")))
    return suite


def is_worse(pair: Comparison, options: Options) -> bool:
    """Whether b is significantly worse than a, corrected over the strata."""
    worse = pair.difference > 0 if options.better == "lower" else pair.difference < 0
    return worse and pair.p_holm < options.alpha


def _count(element: Element, cases: list[Element]) -> None:
    for attribute, tag in (("failures", "failure"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    element.set("tests", str(len(cases)))


def _text(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
