# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants in a few words."""

import pytest

from kernsmith.errors import UserError
from kernsmith.study.words import read_variant


@pytest.mark.parametrize(
    ("text", "source", "levels"),
    [
        ("default", None, {}),
        ("v7.2", "~/linux", {"source": "git:~/linux@v7.2"}),
        ("HEAD~1", "git:~/linux@v7.3", {"source": "git:~/linux@HEAD~1"}),
        ("revision=v7.2,march=znver3", "a", {"source": "git:a@v7.2", "march": "znver3"}),
        (".", "~/linux", {"source": "."}),
        ("debian:7.3,CONFIG_HZ=1000", None, {"source": "debian:7.3", "CONFIG_HZ": "1000"}),
        ("linux-7.3.tar.xz", "~/linux", {"source": "linux-7.3.tar.xz"}),
        ("default,CONFIG_PSI=n", None, {"CONFIG_PSI": "n"}),
        ("CONFIG_PSI=n,config=my.config", None, {"CONFIG_PSI": "n", "config": "my.config"}),
        ("flags=-fno-inline -Wa,-mbig,march=default", None,
         {"flags": "-fno-inline -Wa,-mbig", "march": "default"}),
    ],
)  # fmt: skip
def test_words_become_levels(text: str, source: str | None, levels: dict[str, str]) -> None:
    assert dict(read_variant(text, source)) == levels


@pytest.mark.parametrize(
    ("text", "source", "told"),
    [
        ("", None, "must not be empty"),
        ("v7.2", None, "needs --source FOLDER"),
        ("v7.2", "debian:7.3", "needs --source FOLDER"),
        ("revision=", "~/linux", "needs a git revision"),
        ("marhc=native", None, "unknown factor 'marhc': allowed are .*march"),
        ("march=znver3,optimisation=-O3", None, "allowed are O2, O3, Os"),
        ("march=znver3,march=znver4", None, "names march twice"),
        ("v7.2,source=debian:7.3", "~/linux", "names source twice"),
    ],
)
def test_mistakes_are_one_sentence(text: str, source: str | None, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        read_variant(text, source)
    assert "\n" not in str(caught.value)
