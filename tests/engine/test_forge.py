# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels of a study may have objects in common."""

from dataclasses import replace

import pytest
from test_verdicts import OPTIMIZE, judged

from kernsmith.engine import Silent
from kernsmith.engine.forge import Forge

Factors = tuple[tuple[str, tuple[str, ...]], ...]


@pytest.mark.parametrize(
    ("factors", "alone"),
    [
        ((("profile", ("none", "autofdo")),), 2),
        ((("profile", ("autofdo",)),), 1),
        ((("march", ("default", "x86-64-v3")), ("optimisation", ("O2", "Os"))), 4),
        ((("lto", ("none", "thin", "full")),), 3),
        ((("CONFIG_CRYPTO_PCRYPT", ("n", "y")), ("alignment", ("none", "64"))), 0),
        ((("label", ("a", "b")),), 2),
        ((("linker", ("default", "bfd")),), 0),
    ],
)
def test_kernels_that_are_compiled_alike_share_objects(factors: Factors, alone: int) -> None:
    prepared = judged(replace(OPTIMIZE, factors=factors), lambda t: 1e6).prepared
    forge = Forge(prepared, Silent())
    assert [forge._is_alone(variant) for variant in prepared.variants].count(True) == alone
