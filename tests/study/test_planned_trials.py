# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants become an ordered plan of trials in layouts, from the seed alone."""

import pytest

from kernsmith.errors import UserError
from kernsmith.study import Design, Layout, plan_trials, plan_variants
from kernsmith.study.factors import LevelError
from kernsmith.study.layout import read_layout
from planned import BASE, WORKLOADS, study


def test_every_block_holds_every_variant_and_workload_once() -> None:
    variants = plan_variants(BASE, WORKLOADS)
    trials = plan_trials(study(design=Design(layouts=4, replicates=2)), variants, WORKLOADS)
    assert len(trials) == 5 * 2 * 2 * 3
    for block in range(10):
        cells = {(t.variant.name, t.workload) for t in trials if t.block == block}
        assert len(cells) == 6
    assert [t.position for t in trials] == list(range(len(trials)))


def test_runs_of_a_boot_go_round_by_round() -> None:
    variants = plan_variants(BASE, WORKLOADS)
    design = Design(layouts=1, replicates=2, runs=3)
    trials = plan_trials(study(design=design), variants, WORKLOADS)
    assert len(trials) == 2 * 2 * 3 * 2 * 3
    assert [t.position for t in trials] == list(range(len(trials)))
    for block in range(4):
        mine = [t for t in trials if t.block == block]
        rounds = [mine[start : start + 6] for start in range(0, 18, 6)]
        first = 3 * (block % 2)
        assert [{t.replicate for t in some} for some in rounds] == [{first + r} for r in range(3)]
        for some in rounds:
            assert len({(t.variant.name, t.workload) for t in some}) == 6
        assert len({tuple((t.variant.name, t.workload) for t in some) for some in rounds}) > 1


def test_the_order_is_random_and_depends_on_the_seed_alone() -> None:
    variants = plan_variants(BASE, WORKLOADS)

    def order(seed: int) -> list[tuple[str, str]]:
        trials = plan_trials(study(design=Design(layouts=3, seed=seed)), variants, WORKLOADS)
        return [(t.variant.name, t.workload) for t in trials]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != sorted(order(1))


def test_variants_share_layouts_but_labels_draw_their_own() -> None:
    trials = plan_trials(BASE, plan_variants(BASE, WORKLOADS), WORKLOADS)
    layouts = {v: {t.layout for t in trials if t.variant.name == v} for v in
               ("profile=none", "profile=autofdo")}  # fmt: skip
    assert layouts["profile=none"] == layouts["profile=autofdo"]

    labelled = study(factors=(("label", ("a", "b")),))
    a, b = plan_variants(labelled, WORKLOADS)
    assert a.identity() == b.identity()
    trials = plan_trials(labelled, (a, b), WORKLOADS)
    of_a = {t.layout for t in trials if t.variant == a}
    of_b = {t.layout for t in trials if t.variant == b}
    assert of_a & of_b == {Layout()}


def test_layouts_are_a_factor() -> None:
    """All levels of one kernel: the mark of each is its layout without luck, then all are drawn."""
    levels = ("random", "order:best.order+random", "profile+random+jitter:4")
    asked = study(factors=(("layout", levels),), design=Design(layouts=2))
    variants = plan_variants(asked, WORKLOADS)
    assert len({str(variant.identity()) for variant in variants}) == 1
    trials = plan_trials(asked, variants, ["pipe"])
    layouts = [[t.layout for t in trials if t.layout_number == number] for number in range(3)]
    assert set(layouts[0]) == {Layout(), Layout("best.order"), Layout("profile")}
    for number in (1, 2):
        seed = f"1.{number}"
        assert {str(layout) for layout in layouts[number]} == {
            f"random:{seed}",
            f"order:best.order+random:{seed}",
            f"profile+random:{seed}+jitter:4",
        }


def test_only_random_layouts_shuffle_data_and_only_where_that_is_asked_for() -> None:
    asked = study(design=Design(layouts=2, data=True))
    trials = plan_trials(asked, plan_variants(asked, WORKLOADS), ["pipe"])
    assert {str(trial.layout) for trial in trials} == {
        "default", "random:1.1+data", "random:1.2+data"
    }  # fmt: skip
    assert asked.digest != study(design=Design(layouts=2)).digest
    with pytest.raises(UserError, match=r"design\.data: loads and stores are in no trace"):
        plan_variants(study(design=Design(layouts_by="replay", data=True)), WORKLOADS)


def test_layouts_that_are_not_drawn_are_one_each() -> None:
    asked = study(factors=(("layout", ("default", "order:a/b+c.order")),))
    variants = plan_variants(asked, WORKLOADS)
    trials = plan_trials(asked, variants, ["pipe"])
    assert {trial.layout for trial in trials} == {Layout(), Layout("a/b+c.order")}
    assert len(trials) == 2


def test_drawn_layouts_are_no_pairs_of_those_that_are_not() -> None:
    asked = study(factors=(("layout", ("random", "order:best.order")),))
    variants = plan_variants(asked, WORKLOADS)
    with pytest.raises(UserError, match="there are no pairs to compare"):
        plan_trials(asked, variants, ["pipe"])


def test_layouts_are_dealt_out_to_the_boots_of_a_label() -> None:
    design = Design(layouts=5, layouts_by="replay", boots=2)
    labelled = study(
        factors=(("label", ("a", "b")), ("profile", ("none", "autofdo"))), design=design
    )
    trials = plan_trials(labelled, plan_variants(labelled, WORKLOADS), ["pipe"])
    boots = {(t.variant.label, t.layout_number): t.boot for t in trials}
    assert len(trials) == 2 * len(boots), "kernels that are compared have the same boots"
    assert [boots["a", number] for number in range(6)] == [0, 1, 0, 1, 0, 1]
    assert [boots["b", number] for number in range(6)] == [0, 3, 2, 3, 2, 3]


def test_every_kernel_has_the_first_boot() -> None:
    """What costs how much is told of it; a label has boots of its own beside others."""
    variants = (("base", (("label", "a"),)), ("new", (("label", "b"), ("optimisation", "O3"))))
    design = Design(layouts=2, layouts_by="replay", boots=2)
    asked = study(factors=(), variants=variants, design=design)
    trials = plan_trials(asked, plan_variants(asked, WORKLOADS), ["pipe"])
    for name in ("base", "new"):
        assert {t.boot for t in trials if t.variant.name == name} == {0, 1}


def test_without_drawn_layouts_there_is_nothing_to_deal_out() -> None:
    design = Design(layouts=2, layouts_by="replay", boots=2)
    asked = study(factors=(("layout", ("default", "profile")),), design=design)
    with pytest.raises(UserError, match=r"^design\.boots: no variant has random layouts"):
        plan_trials(asked, plan_variants(asked, WORKLOADS), ["pipe"])


@pytest.mark.parametrize("level", ["", "order:", "random+random", "best", "profile+jitter:4"])
def test_what_is_no_layout(level: str) -> None:
    with pytest.raises(LevelError, match="allowed are default, random, order:FILE and profile"):
        plan_variants(study(factors=(("layout", (level,)),)), WORKLOADS)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(),
        Layout(seed="1.3"),
        Layout("profile"),
        Layout("profile", "1.3.b", 12),
        Layout("best+c.order"),
        Layout("best+c.order", "1.3"),
        Layout(seed="1.3", data=True),
        Layout("profile", "1.3.b", 12, data=True),
        Layout("best+data"),
        Layout(seed="a+b.1.3"),
        Layout("profile", "a+jitter:3.1.3", 12, data=True),
        Layout("best.order", "a+random:b+data.1.3", data=True),
    ],
    ids=str,
)
def test_a_layout_is_read_as_it_is_written(layout: Layout) -> None:
    assert read_layout(str(layout)) == layout


@pytest.mark.parametrize("label", ["a+b", "+data", "x+jitter:4"])
def test_layouts_of_a_label_with_a_plus_are_read_back(label: str) -> None:
    asked = study(factors=(("label", (label, "other")),), design=Design(layouts=2))
    trials = plan_trials(asked, plan_variants(asked, WORKLOADS), WORKLOADS)
    drawn = {trial.layout for trial in trials if trial.layout.seed.startswith(f"{label}.")}
    assert len(drawn) == 2
    assert {read_layout(str(layout)) for layout in drawn} == drawn


def test_what_no_layout_writes_is_none() -> None:
    with pytest.raises(UserError, match="no layout is called 'jumbled'"):
        read_layout("jumbled")
