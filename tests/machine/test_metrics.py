# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of metrics: what figures are of, and that two meanings share no name."""

from kernsmith.machine.metrics import METRICS, by_virtual_clock, in_order, metric


def test_times_of_a_virtual_clock_have_names_of_their_own() -> None:
    said = {"seconds": 0.05, "sys_seconds": 0.04, "user_seconds": 0.01, "requests": 7.0}
    named = by_virtual_clock(said)
    assert named == {
        "virtual_seconds": 0.05,
        "virtual_sys_seconds": 0.04,
        "virtual_user_seconds": 0.01,
        "requests": 7.0,
    }
    assert {metric(name).meaning for name in said} == {"real", "counted"}
    assert {metric(name).meaning for name in named} == {"virtual", "counted"}
    assert all(metric(name).unit == "s" for name in named if name != "requests")


def test_a_name_stands_once_in_the_catalogue() -> None:
    names = [each.name for each in METRICS]
    assert len(set(names)) == len(names)
    assert in_order({"zebra", *names, "ape"}) == [*names, "ape", "zebra"]


def test_no_virtual_time_is_a_headline() -> None:
    headlines = {each.name for each in METRICS if each.headline}
    assert {"model_cycles", "seconds"} < headlines
    assert all(each.meaning != "virtual" for each in METRICS if each.headline)
