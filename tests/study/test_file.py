# SPDX-License-Identifier: GPL-2.0-or-later
"""Study files: what is written is read back; mistakes name the file, the key, what is allowed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.paths import shipped
from kernsmith.study import plan_variants
from kernsmith.study.file import read_study, write_study

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
        ("[source", "is not TOML"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=told) as caught:
        read_study(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_study(tmp_path / "none.toml")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_a_study_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "s.toml"
    path.write_bytes(data)
    with pytest.raises(UserError):
        read_study(path)


@pytest.mark.parametrize("path", sorted(shipped("studies").rglob("*.toml")), ids=lambda p: p.stem)
def test_shipped_studies_are_valid(path: Path) -> None:
    study = read_study(path)
    assert study.factors or study.variants or study.design.layouts > 1
