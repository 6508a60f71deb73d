# SPDX-License-Identifier: GPL-2.0-or-later
"""A study becomes variants, each with the steps that make it and what these are trained on."""

from dataclasses import replace

import pytest

from kernsmith.errors import UserError
from kernsmith.study import Design, Variant, plan_trials, plan_variants
from kernsmith.study.factors import LevelError
from kernsmith.study.plan import repeated_variants
from planned import BASE, WORKLOADS, study


def trainer_of(variant: Variant) -> Variant:
    assert variant.trainer is not None
    return variant.trainer


def test_first_variant_is_the_baseline_and_only_the_profile_differs() -> None:
    baseline, optimised = plan_variants(BASE, WORKLOADS)
    assert baseline.steps == ()
    assert [(step.kind, step.train) for step in optimised.steps] == [("autofdo", WORKLOADS)]
    assert trainer_of(optimised).identity() == baseline.identity()
    assert optimised.name == "profile=autofdo"


def test_each_step_is_trained_on_the_kernel_of_those_before_it() -> None:
    stacks = ("none", "autofdo", "autofdo+autofdo")
    none, one, two = plan_variants(study(factors=(("profile", stacks),)), WORKLOADS)
    assert [len(variant.steps) for variant in (none, one, two)] == [0, 1, 2]
    assert trainer_of(two).identity() == one.identity()
    assert trainer_of(trainer_of(two)).identity() == none.identity()


def test_a_step_that_needs_more_to_be_trained_shares_the_kernel_that_is_measured() -> None:
    stacks = ("none", "autofdo", "autofdo+propeller")
    none, one, two = plan_variants(study(factors=(("profile", stacks),)), WORKLOADS)
    assert trainer_of(two).identity() == one.identity()
    assert trainer_of(one).identity() == none.identity()
    assert dict(two.options) == {"AUTOFDO_CLANG": "y", "PROPELLER_CLANG": "y"} == dict(one.options)
    assert dict(none.options) == {"AUTOFDO_CLANG": "y"}
    (alone,) = plan_variants(study(factors=(("profile", ("autofdo",)),)), WORKLOADS)
    assert dict(alone.options) == {"AUTOFDO_CLANG": "y"}


def test_a_kernel_that_is_trained_on_for_two_steps_is_measured_without_what_only_one_needs() -> (
    None
):
    stacks = ("none", "autofdo", "propeller")
    none, autofdo, propeller = plan_variants(study(factors=(("profile", stacks),)), WORKLOADS)
    assert trainer_of(autofdo).identity() == none.identity()
    assert trainer_of(propeller).identity() != none.identity()
    assert trainer_of(propeller).name == "to train propeller"
    assert "PROPELLER_CLANG" not in dict(none.options)


def test_all_that_a_compiler_makes_beside_a_profile_have_line_tables() -> None:
    """clang's code depends on them."""
    named = (
        ("plain", ()),
        ("trained", (("profile", "autofdo"),)),
        ("O3", (("optimisation", "O3"),)),
        ("by gcc", (("compiler", "gcc-12"),)),
        ("without", (("CONFIG_AUTOFDO_CLANG", "n"),)),
    )
    tables = {"AUTOFDO_CLANG": "y"}
    plain, trained, o3, gcc, without = plan_variants(study(factors=(), variants=named), WORKLOADS)
    assert trainer_of(trained).identity() == plain.identity()
    assert dict(plain.options) == tables
    assert tables.items() <= dict(o3.options).items()
    assert dict(gcc.options) == {}
    assert dict(without.options) == {"AUTOFDO_CLANG": "n"}
    untrained = tuple(each for each in named if each[0] != "trained")
    plain, o3, *_ = plan_variants(study(factors=(), variants=untrained), WORKLOADS)
    assert plain.options == ()
    assert "AUTOFDO_CLANG" not in dict(o3.options)


@pytest.mark.parametrize("stacks", [("autofdo", "instrumented"), ("instrumented", "autofdo")])
def test_line_tables_are_those_of_any_trained_variant(stacks: tuple[str, ...]) -> None:
    named = (
        ("plain", ()),
        *((stack, (("profile", stack),)) for stack in stacks),
        ("v3", (("march", "x86-64-v3"),)),
    )
    variants = plan_variants(study(factors=(), variants=named), WORKLOADS)
    assert dict(variants[-1].options)["AUTOFDO_CLANG"] == "y"


def test_a_step_without_a_profile_needs_no_training_and_holds_for_those_behind_it() -> None:
    stacks = ("none", "autofdo", "autofdo+thinlto", "autofdo+thinlto+propeller")
    none, autofdo, thin, propeller = plan_variants(study(factors=(("profile", stacks),)), WORKLOADS)
    assert trainer_of(autofdo).identity() == trainer_of(thin).identity() == none.identity()
    assert trainer_of(propeller).identity() == thin.identity()
    assert thin.steps[1].train == ()
    lto = {"LTO_CLANG_THIN": "y", "LTO_NONE": "n"}
    read = {"AUTOFDO_CLANG": "y", "PROPELLER_CLANG": "y"}
    assert dict(thin.options) == dict(propeller.options) == lto | read
    assert dict(none.options) == dict(autofdo.options) == {"AUTOFDO_CLANG": "y"}


def test_a_step_behind_lto_is_trained_on_a_kernel_with_it() -> None:
    stacks = ("none", "full-lto", "full-lto+autofdo")
    none, full, both = plan_variants(study(factors=(("profile", stacks),)), WORKLOADS)
    assert full.trainer is None
    assert trainer_of(both).identity() == full.identity() != none.identity()


def test_a_layout_is_found_on_the_kernel_that_is_measured_below() -> None:
    for below in ("none", "autofdo+thinlto+propeller"):
        level = "layout" if below == "none" else f"{below}+layout"
        kernel, layout = plan_variants(study(factors=(("profile", (below, level)),)), WORKLOADS)
        assert trainer_of(layout).identity() == kernel.identity()
        assert layout.steps[-1].train == WORKLOADS


def test_a_step_with_counters_is_trained_on_a_kernel_that_has_them_and_is_not_measured() -> None:
    stacks = ("none", "instrumented", "instrumented+propeller")
    none, one, two = plan_variants(study(factors=(("profile", stacks),)), WORKLOADS)
    counting = trainer_of(one)
    assert (counting.trains, counting.steps, counting.name) == ("instrumented", (), "instrumented")
    assert counting.identity() == none.identity() | {"trains": "instrumented"}
    assert none.code != counting.code
    # What is laid out is the kernel that will be used.
    assert trainer_of(two).identity() == one.identity()
    asked = study(profile="/a/file", factors=(("profile", ("none", "instrumented")),))
    assert trainer_of(plan_variants(asked, WORKLOADS)[1]).trains == ""


def test_a_profile_of_the_users_is_that_of_the_first_step_that_has_one() -> None:
    asked = study(profile="/a/file", factors=(("profile", ("none", "thinlto+autofdo")),))
    thin, given = plan_variants(asked, WORKLOADS)[1].steps
    assert (thin.files, given.files, given.train) == ((), ("/a/file",), ())


@pytest.mark.parametrize(
    ("level", "told"),
    [
        ("thinlto+full-lto", "has thinlto and full-lto: a kernel has one"),
        ("thinlto-dist+thinlto-dist", "has thinlto-dist and thinlto-dist"),
        ("layout+autofdo", "has a step behind layout, which must be the last"),
        ("autofdo+instrumented", "a compiler reads the profile of one of them"),
    ],
)
def test_what_no_stack_can_be(level: str, told: str) -> None:
    with pytest.raises(LevelError, match=told):
        plan_variants(study(factors=(("profile", ("none", level)),)), WORKLOADS)


@pytest.mark.parametrize(
    "changes",
    [
        {"factors": (("lto", ("none", "thin")), ("profile", ("none", "thinlto")))},
        {
            "factors": (("profile", ("none", "thinlto")),),
            "options": (("LTO_NONE", "n"), ("LTO_CLANG_FULL", "y")),
        },
    ],
    ids=("by the factor", "by options"),
)
def test_lto_is_asked_for_in_one_place(changes: dict[str, object]) -> None:
    with pytest.raises(LevelError, match=r"sets CONFIG_LTO_.* leave one"):
        plan_variants(study(**changes), WORKLOADS)


def test_a_profile_of_the_users_is_that_of_the_first_step() -> None:
    asked = study(profile="/a/file", factors=(("profile", ("none", "autofdo+autofdo")),))
    given, trained = plan_variants(asked, WORKLOADS)[1].steps
    assert (given.files, given.train) == (("/a/file",), ())
    assert (trained.files, trained.train) == ((), WORKLOADS)


def test_levels_combine_to_all_variants() -> None:
    factors = (("march", ("default", "x86-64-v3")), ("optimisation", ("O2", "O3", "Os")))
    variants = plan_variants(study(factors=factors), WORKLOADS)
    assert len(variants) == 6
    assert len({str(v.identity()) for v in variants}) == 6
    assert variants[4].flags == ("-march=x86-64-v3", "-O3")


def test_config_symbols_are_factors() -> None:
    off, on = plan_variants(study(factors=(("CONFIG_PREEMPT", ("n", "y")),)), WORKLOADS)
    assert (off.options, on.options) == ((("PREEMPT", "n"),), (("PREEMPT", "y"),))


def test_what_each_factor_does_to_a_variant() -> None:
    def one(factor: str, level: str, **changes: object) -> Variant:
        return plan_variants(study(factors=((factor, (level,)),), **changes), WORKLOADS)[0]

    plain = one("label", "a")
    assert one("linker", "lld-19").linker == "lld-19"
    assert one("linker", "default").linker == plain.linker == ""
    assert one("mtune", "znver3").flags == ("-mtune=znver3",)
    assert one("flags", "-fno-inline -funroll-loops").flags == ("-fno-inline", "-funroll-loops")
    assert one("flags_inline", "none").flags == one("mtune", "default").flags == ()
    assert one("lto", "none").options == (("LTO_NONE", "y"),)
    assert one("lto", "thin").options == (("LTO_CLANG_THIN", "y"), ("LTO_NONE", "n"))
    assert one("lto", "full").options == (("LTO_CLANG_FULL", "y"), ("LTO_NONE", "n"))
    assert one("profile", "none").options == (("AUTOFDO_CLANG", "y"),)
    assert one("profile", "none", compiler="gcc-12").options == ()


@pytest.mark.parametrize(
    ("march", "flags"),
    [
        ("znver3", ("-march=znver3", "-mtune=znver3")),
        ("x86-64-v3", ("-march=x86-64-v3",)),
        ("default", ()),
    ],
)
def test_mtune_follows_march_wherever_it_stands(march: str, flags: tuple[str, ...]) -> None:
    for factors in (
        (("mtune", ("march",)), ("march", (march,))),
        (("march", (march,)), ("mtune", ("march",))),
    ):
        (variant,) = plan_variants(study(factors=factors), WORKLOADS)
        assert variant.flags == flags


def test_combinations_that_are_the_same_kernel_are_one() -> None:
    """`mtune = "march"` changes nothing where `march` is `default`: three kernels, not four."""
    factors = (("march", ("default", "znver3")), ("mtune", ("default", "march")))
    asked = study(factors=factors)
    variants = plan_variants(asked, WORKLOADS)
    assert [variant.flags for variant in variants] == [
        (),
        ("-march=znver3",),
        ("-march=znver3", "-mtune=znver3"),
    ]
    ((left_out, stays),) = repeated_variants(asked, WORKLOADS)
    assert (left_out.name, stays.name) == (
        "march=default mtune=march",
        "march=default mtune=default",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"factors": (("mtune", ("default", "march")),)},
        {"factors": (), "variants": (("a", ()), ("b", (("mtune", "march"),)))},
    ],
)
def test_a_kernel_is_not_compared_with_itself(changes: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"are the same kernel; .* factor label"):
        plan_variants(study(**changes), WORKLOADS)


def test_a_study_without_end_is_refused() -> None:
    variants = plan_variants(BASE, WORKLOADS)
    endless = study(design=Design(layouts=10_000, replicates=10_000))
    with pytest.raises(UserError, match=r"more than the 1000000 that a study may have"):
        plan_trials(endless, variants, WORKLOADS)


def test_profile_looks_at_the_compiler_wherever_it_stands() -> None:
    factors = (("profile", ("none",)), ("compiler", ("clang-22", "gcc-12")))
    by_clang, by_gcc = plan_variants(study(factors=factors), WORKLOADS)
    assert by_clang.options == (("AUTOFDO_CLANG", "y"),)
    assert by_gcc.options == ()


def test_a_profile_that_gcc_cannot_read_leaves_the_others_alone() -> None:
    factors = (("profile", ("none", "autofdo")), ("compiler", ("gcc-12", "clang-22")))
    gcc, clang, impossible, _ = plan_variants(study(factors=factors), WORKLOADS)
    assert gcc.options == ()
    assert clang.options == impossible.options == (("AUTOFDO_CLANG", "y"),)


@pytest.mark.parametrize(
    ("factor", "level", "told"),
    [
        ("profil", "none", "unknown factor 'profil'"),
        ("profile", "magic", "none, best, autofdo"),
        ("march", "zen 3", "no level 'zen 3'"),
        ("alignment", "48", "64, 128"),
        ("CONFIG_HZ", "fast", "a number"),
        ("linker", "gold", "lld-22 and the like, bfd"),
        ("lto", "fat", "none, thin, full"),
        ("mtune", "Zen", "no level 'Zen'"),
        ("flags", "O3", "start with '-'"),
        ("flags", "-O3; reboot", "a character that make or a shell may expand"),
        ("CONFIG_LOCALVERSION", '"$(shell reboot)"', "without characters that make or a shell"),
        ("CONFIG_LOCALVERSION", '"a" b"', "a quoted string"),
        ("compiler", "/opt/gcc;reboot", "names such as clang-22"),
        ("compiler", "sh", "names such as clang-22"),
        ("linker", "/opt/$(shell reboot)", "an absolute path without blanks"),
        ("source", "git:linux@-x", "does not begin with '-'"),
        ("flags.x", "-O3", "not a name for flags"),
    ],
)
def test_unknown_factors_and_levels_are_told_with_what_is_allowed(
    factor: str, level: str, told: str
) -> None:
    with pytest.raises(LevelError, match=told):
        plan_variants(study(factors=((factor, (level,)),)), WORKLOADS)


@pytest.mark.parametrize("stack", ["layout+autofdo", "autofdo+bolt+thinlto", "bolt+layout"])
def test_what_compiles_nothing_is_the_last_step(stack: str) -> None:
    with pytest.raises(
        LevelError, match=r"has a step behind (layout|bolt), which must be the last"
    ):
        plan_variants(study(factors=(("profile", ("none", stack)),)), WORKLOADS)


def test_layouts_of_a_rewritten_kernel_are_booted() -> None:
    asked = study(factors=(("profile", ("none", "autofdo+bolt")),), design=Design(layouts=2))
    with pytest.raises(UserError, match=r'design\.layouts_by: BOLT puts .*allowed is "boot"'):
        plan_variants(replace(asked, design=replace(asked.design, layouts_by="replay")), WORKLOADS)
    (_, bolt) = plan_variants(
        replace(asked, design=replace(asked.design, layouts_by="boot")), WORKLOADS
    )
    assert [(step.kind, step.train) for step in bolt.steps] == [
        ("autofdo", WORKLOADS), ("bolt", WORKLOADS),
    ]  # fmt: skip
