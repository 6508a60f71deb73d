# SPDX-License-Identifier: GPL-2.0-or-later
"""Study files: what is written is read back; mistakes name the file, the key, what is allowed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.paths import shipped
from kernsmith.study import Design, Study, plan_variants
from kernsmith.study.file import read_study
from kernsmith.study.machines import on_each_machine
from kernsmith.study.writing import write_study

GOOD = """
[source]
use = "debian:7.3"
config = "lab"
[factors]
alignment = ["none", 32, 64]
CONFIG_CRYPTO_PCRYPT = [false, true]
[design]
layouts = 4
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text)
    return path


def test_a_study_file_is_read_and_written_back(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, GOOD))
    assert study.factors == (
        ("alignment", ("none", "32", "64")),
        ("CONFIG_CRYPTO_PCRYPT", ("n", "y")),
    )
    assert study.design.layouts == 4
    again = read_study(written(tmp_path, write_study(study)))
    assert again == study
    assert again.digest == study.digest


def test_the_machine_kvm_has_several_runs_in_a_boot_and_no_cpu_model(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, GOOD + '[machine]\nuse = "kvm"\n'))
    assert (study.cpu, study.design.runs, study.design.layouts_by) == ("", 10, "boot")
    for runs in (1, 10, 25):
        asked = replace(study, design=replace(study.design, runs=runs))
        assert read_study(written(tmp_path, write_study(asked))) == asked


TWO = (
    GOOD
    + """
runs = 3
[[machine]]
use = "tcg"
cpu = "zen5"
metric = "kernel_instructions"
[[machine]]
use = "kvm"
settings = { accel = "tcg" }
"""
)


def test_two_machines_share_everything_but_what_is_their_own(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, TWO))
    again = read_study(written(tmp_path, write_study(study)))
    assert again == study
    assert again.digest == study.digest != read_study(written(tmp_path, GOOD)).digest
    first, second = on_each_machine(study)
    assert (first.machine, first.cpu, first.settings) == ("tcg", "zen5", ())
    assert (second.machine, second.cpu, second.settings) == ("kvm", "", (("accel", "tcg"),))
    assert (first.name, second.name) == ("s-tcg", "s-kvm")
    assert (first.design.metric, second.design.metric) == ("kernel_instructions", "")
    assert (first.design.runs, second.design.runs) == (1, 3)
    assert first.design.layouts_by == second.design.layouts_by == "boot"
    assert plan_variants(first, ()) == plan_variants(second, ())


def test_what_is_said_for_all_machines_holds_on_each(tmp_path: Path) -> None:
    text = TWO.replace('metric = "kernel_instructions"', "") + ""
    text = text.replace("runs = 3", 'metric = "kernel_instructions"\nlayouts_by = "replay"')
    first, second = on_each_machine(read_study(written(tmp_path, text)))
    assert first.design.metric == second.design.metric == "kernel_instructions"
    assert (first.design.layouts_by, second.design.layouts_by) == ("replay", "boot")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"tcg"\ncpu = "zen5"', '"uml"'), r"uml cannot be one of two: its kernels are programs"),
        (('use = "kvm"', 'use = "kvm"\nslot = 2'), r"unknown key machine.1.slot: allowed are use"),
        (("runs = 3", "until = 0.5"), r"design.until: with two machines"),
        (
            ("runs = 3", 'boots = 2\nlayouts_by = "replay"'),
            r"design.boots: two machines are",
        ),
        (('use = "kvm"\nsettings = { accel = "tcg" }', 'use = "tcg"'), r"machine: both are tcg"),
        (('use = "kvm"', 'use = "kvm"\n[[machine]]\nuse = "tcg"'), r"machine: .*at most 2"),
    ],
)
def test_machines_that_cannot_share_a_study_are_refused(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    assert change[0] in TWO
    with pytest.raises(UserError, match=told):
        read_study(written(tmp_path, TWO.replace(*change)))


def test_named_variants_are_read_and_written_back(tmp_path: Path) -> None:
    """Variants that differ in several factors are as many as there are names, no combinations."""
    (tmp_path / "linux" / ".git").mkdir(parents=True)
    (tmp_path / "my.config").write_text("CONFIG_PRINTK=y\n")
    text = """
        [source]
        use = "debian:7.3"
        [variants]
        before = {}
        "after, with more" = { source = "git:linux@v2", config = "my.config", CONFIG_HZ = 1000 }
        [design]
        metric = "kernel_instructions"
        pairing = "place"
        """
    study = read_study(written(tmp_path, text))
    assert [name for name, _ in study.variants] == ["before", "after, with more"]
    again = read_study(written(tmp_path, write_study(study)))
    assert again.digest == study.digest
    before, after = plan_variants(study, ())
    assert (before.name, before.source, before.options) == ("before", "debian:7.3", ())
    assert after.name == "after, with more"
    assert after.source == f"git:{tmp_path}/linux@v2"
    assert after.config == f"{tmp_path}/my.config"
    assert after.options == (("HZ", "1000"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[source]\nuse='x'\n[desing]\nlayouts=1", "unknown key desing: allowed are source, mach"),
        ("[source]\nuse='x'\n[design]\nlayout=1", "unknown key design.layout: .*layouts"),
        ("[design]\nlayouts=1", "source: field required"),
        ("[source]\nuse='x'\n[design]\nlayouts=-1", "design.layouts: .*greater than or equal to 0"),
        ("[source]\nuse='x'\n[factors]\nprofile=['none','none']", "names a level twice"),
        ("[source]\nuse='x'\n[factors]\nprofile=[]", "factors.profile"),
        (
            "[source]\nuse='x'\n[variants]\nA={marhc='x'}",
            "variants.A.marhc: unknown factor 'marhc'",
        ),
        ("[source]\nuse='x'\n[variants]\nA={profile='x'}", "variants.A.profile: .*autofdo"),
        ("[source]\nuse='x'\n[variants]\nA={flags='x'}", "variants.A.flags: .*start with '-'"),
        ("[source]\nuse='x'\n[variants]\nA={config=''}", "variants.A.config: .*empty level"),
        ("[source]\nuse='x'\n[variants]\nA={}\n[factors]\nlabel=['a']", "exclude each other"),
        ("[source]\nuse='x'\n[design]\npairing='x'", "design.pairing: .*'seed' or 'place'"),
        (
            "[source]\nuse='x'\n[design]\nlayouts=64\nuntil=0.5\nmost_layouts=8",
            "design.layouts: .* begins with 64 layouts is beyond its design.most_layouts, 8,",
        ),
        ("[source]\nuse='x'\n[design]\nuntil=nan", "design.until: "),
        ("[source]\nuse='x'\n[design]\nboots=0", "design.boots: .*greater than or equal to 1"),
        (
            "[source]\nuse='x'\n[design]\nboots=2\nlayouts_by='boot'",
            "design.boots: .*each has a boot of its own already: allowed is 1$",
        ),
        (
            "[source]\nuse='x'\n[design]\nboots=9\nlayouts=8",
            "design.boots: 9 boots are more than there are random layouts .*design.layouts, 8",
        ),
        (
            "[source]\nuse='x'\n[design]\nboots=2\nuntil=0.5",
            "design.boots: .*allowed is 1, or a fixed number of layouts",
        ),
        ("[source]\nuse='x'\n[design]\nseed=99999999999999999999", "design.seed: "),
        (
            "[source]\nuse='x'\noptions={HZ='1000', CONFIG_HZ='250'}",
            "source.options names one symbol twice: HZ and CONFIG_HZ",
        ),
        (
            "[source]\nuse='x'\n[machine.settings]\ntime_limit=inf",
            "machine.settings.time_limit is inf: it must be finite",
        ),
        (
            "[source]\nuse='x'\n[[machine]]\n[[machine]]\nuse='kvm'\nsettings={time_limit=nan}",
            "machine.settings.time_limit is nan: it must be finite",
        ),
        ("[source", "is not TOML"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=told) as caught:
        read_study(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("most_layouts=8", (8, 8)),
        ("layouts=600", (600, 600)),
        ("layouts=8\nmost_layouts=64", (8, 64)),
        ("", (64, 512)),
    ],
)
def test_what_until_leaves_open_contradicts_nothing(
    tmp_path: Path, said: str, expected: tuple[int, int]
) -> None:
    text = f"[source]\nuse='x'\n[factors]\nlabel=['a','b']\n[design]\nuntil=0.5\n{said}"
    design = read_study(written(tmp_path, text)).design
    assert (design.layouts, design.most_layouts) == expected


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_study(tmp_path / "none.toml")


def outcome(folder: Path, data: bytes) -> Study | None:
    """The study in a file, or None when it was refused, by one sentence that names the file."""
    path = folder / "s.toml"
    path.write_bytes(data)
    try:
        return read_study(path)
    except UserError as refused:
        assert str(path) in str(refused)
        assert "\n" not in str(refused)
        assert len(str(refused)) < len(str(path)) + 1500
        assert refused.exit_code == 2
        return None


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_a_study_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    outcome(tmp_path_factory.mktemp("fuzz"), data)


# Words as people write them, with what is special to TOML, to paths and to this program.
WORDS = st.text(st.sampled_from("abz09 _-@:{}~.,/\"'\\#=[]é漢☃"), min_size=1, max_size=12)
LEVELS = {
    "march": st.sampled_from(["default", "znver3", "x86-64-v3", "a.b+c-d"]),
    "compiler": st.sampled_from(["clang-22", "gcc-12", "/opt/a b".replace(" ", "_")]),
    "lto": st.sampled_from(["none", "thin", "full"]),
    "label": WORDS,
    "config": WORDS,
    "source": WORDS.filter(lambda text: text.strip() and ":" not in text),
    "flags_a": st.sampled_from(["none", "-fno-inline -O3", "-mllvm -inline-threshold=5"]),
    "CONFIG_HZ": st.sampled_from(["100", "-1", "0x1f", "y", '"none"', '"a b.c"']),
}
NAMED = st.dictionaries(
    WORDS.filter(str.strip),
    st.sets(st.sampled_from(sorted(LEVELS)), max_size=3).flatmap(
        lambda names: st.tuples(*(st.tuples(st.just(n), LEVELS[n]) for n in sorted(names)))
    ),
    max_size=3,
).map(lambda made: tuple(made.items()))
CROSSED = st.sets(st.sampled_from(sorted(LEVELS)), max_size=3).flatmap(
    lambda names: st.tuples(
        *(
            st.tuples(
                st.just(n), st.lists(LEVELS[n], min_size=1, max_size=3, unique=True).map(tuple)
            )
            for n in sorted(names)
        )
    )
)
DESIGNS = st.builds(
    Design,
    layouts=st.integers(0, 100),
    replicates=st.integers(1, 100),
    seed=st.integers(-(2**63), 2**63 - 1),
    alpha=st.floats(0, 1, exclude_min=True, exclude_max=True),
    until=st.floats(0.001, 99),
    most_layouts=st.integers(2, 100),
    metric=st.sampled_from(["", "seconds"]),
    pairing=st.sampled_from(["seed", "place"]),
    every=st.integers(0, 1000),
    data=st.booleans(),
).filter(lambda design: design.layouts <= design.most_layouts)
STUDIES = st.builds(
    Study,
    name=st.just("s"),
    source=LEVELS["source"] | st.sampled_from(["debian:7.3", "git:a@b@c", "git:a@HEAD@{1}"]),
    config=WORDS,
    compiler=st.just("") | LEVELS["compiler"],
    linker=st.sampled_from(["", "bfd", "lld-22", "/opt/ld"]),
    options=st.dictionaries(st.sampled_from(["HZ", "PSI", "0"]), LEVELS["CONFIG_HZ"]).map(
        lambda options: tuple(sorted(options.items()))
    ),
    flags=st.sampled_from([(), ("-O3",), ("-mllvm", "-inline-threshold=5", "-DA=b.c")]),
    machine=WORDS,
    cpu=WORDS,
    workloads=st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    train=st.lists(WORDS, max_size=3).map(tuple),
    folds=st.sampled_from([0, 2, 5]),
    profile=st.just("") | st.just("/no/such.afdo"),
    factors=st.just(()),
    design=DESIGNS,
)


@settings(max_examples=300, deadline=None)
@given(STUDIES, CROSSED, NAMED, st.booleans())
def test_every_study_is_written_and_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    study: Study,
    crossed: tuple[tuple[str, tuple[str, ...]], ...],
    named: tuple[tuple[str, tuple[tuple[str, str], ...]], ...],
    by_name: bool,
) -> None:
    folder = tmp_path_factory.mktemp("written")
    study = replace(study, factors=() if by_name else crossed, variants=named if by_name else ())
    words = str((study.factors, study.variants))
    if "autofdo" not in words:
        study = replace(study, profile="")  # it needs a step that reads it
    again = outcome(folder, write_study(study).encode())
    assert again == study
    assert again.digest == study.digest


# Values of any type and size in the place of any of a study's.
ODD = st.one_of(
    st.none(), st.booleans(), st.floats(), st.binary(max_size=3).map(str), WORDS,
    st.sampled_from(["", "\x00", "\n", "x" * 100_000, "~nobody/x", "/dev/zero", "/" * 5000, "git:@",
                     "debian:", "$(reboot)", "tcg", "kvm", "ssh:", "lab", "no-such-machine"]),
    st.sampled_from([0, -1, 10**9, 2**63, -(2**64), 10**400]),
    st.lists(st.integers() | WORDS, max_size=3),
    st.dictionaries(WORDS, WORDS, max_size=2),
)  # fmt: skip
KEYS = {
    "source": ["use", "config", "compiler", "linker", "options", "flags", "x"],
    "machine": ["use", "cpu"],
    "workloads": ["use", "train", "folds", "profile"],
    "design": [
        "layouts",
        "replicates",
        "seed",
        "alpha",
        "until",
        "metric",
        "pairing",
        "every",
        "boots",
        "data",
    ],
    "factors": ["march", "CONFIG_HZ", "flags", "source", "config", "alignment", "CONFIG_", "y\nz"],
    "variants": ["a", "b\n"],
}
TABLES = st.fixed_dictionaries(
    {},
    optional={
        table: st.dictionaries(st.sampled_from(keys), ODD, max_size=3) | ODD
        for table, keys in KEYS.items()
    },
)


@settings(max_examples=500, deadline=None)
@given(TABLES)
@example({"factors": {"march": [0], "y\nz": [0]}})
def test_strange_values_are_a_study_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, Any]
) -> None:
    whole = {"source": {"use": "debian:7.3"}} | tables
    outcome(tmp_path_factory.mktemp("odd"), toml(whole).encode(errors="surrogatepass"))


def toml(tables: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in tables.items())


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value) if "." in repr(value) or "n" in repr(value) else f"{value:.1f}"
    return "1979-05-27" if value is None else json.dumps(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed = 9" + "9" * 5000, "is not TOML"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("#" * (1 << 21), "more than 1048576 bytes"),
        ("[source]\nuse='x'\n[design]\nseed=18446744073709551616", "design.seed: "),
        ("[source]\nuse='x\u0007'", "is not TOML"),
        ('[source]\nuse="x\\u001b[31m"', "characters that cannot be printed"),
        ('[source]\nuse="x"\n["a\\nb"]\nx=1', "unknown key 'a"),
        ("[source]\nuse='x'\noptions={'HZ\u00e9'=1}", "is not the name of a config symbol"),
        ("[source]\nuse='x'\nflags=['-wrapper x']", "source.flags: the flag '-wrapper' is not"),
        ("[source]\nuse='x'\ncompiler='sh'", "source.compiler: factor 'compiler' has no level"),
        (
            "[source]\nuse='x'\n[factors]\n"
            + "\n".join(f"flags_{n}=['none','-O1','-O2','-O3']" for n in range(40)),
            "more than a thousand million variants are more than the 4096",
        ),
    ],
    # pytest hands the id on to every program that a test starts, and the kernel limits it.
    ids=lambda value: value[:40],
)  # fmt: skip
def test_values_without_measure_are_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=told) as caught:
        read_study(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_an_editor_of_windows_writes_a_study_as_well(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[source]\r\nuse = "debian:7.3"\r\n', encoding="utf-8-sig")
    assert read_study(path).source == "debian:7.3"


@pytest.mark.parametrize("path", sorted(shipped("studies").rglob("*.toml")), ids=lambda p: p.stem)
def test_shipped_studies_are_valid(path: Path) -> None:
    study = read_study(path)
    assert study.factors or study.variants or study.design.layouts > 1


def test_order_files_of_layouts_are_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "best+1.order").write_text("vfs_read\n")
    levels = ["random", "order:best+1.order+random", "profile+random"]
    path = tmp_path / "s.toml"
    path.write_text(f'[source]\nuse = "debian:7.3"\n[factors]\nlayout = {levels}\n')
    here = tmp_path.resolve()
    assert dict(read_study(path).factors)["layout"] == (
        "random",
        f"order:{here}/best+1.order+random",
        "profile+random",
    )
