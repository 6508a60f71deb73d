# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith verify`: whether the kernels of a study work, by tests and watchdogs of their own."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFolder
from kernsmith.errors import UserError

if TYPE_CHECKING:
    from kernsmith.engine.prepare import Prepared


def verify(
    study: Path,
    /,
    *,
    oracle: Annotated[tuple[str, ...], Parameter(negative=())] = ("kunit",),
    variant: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    trust: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    output: OutputFolder | None = None,
    json: bool = False,
) -> int:
    """Ask whether the kernels of a study work: by their unit tests, and watchdogs over workloads.

    Of each variant a twin is built: the same compiler, flags and profiles, with the config symbols
    of the oracle besides: a kernel more for each oracle. What the baseline's twin does wrong, too,
    is no fault of a variant's. Kernels and profiles that the study has not made yet are made first.

    The exit code is 1 when a variant does something wrong that the baseline does right, or cannot
    be asked.

    Examples:

        kernsmith verify kernsmith-results/optimize-micro-1a2b3c4d/study.toml

        kernsmith verify study.toml --oracle kunit --oracle lockdep --variant profile=autofdo

    Parameters
    ----------
    study
        A study's TOML file; every result's folder has one, study.toml.
    oracle
        kunit (the kernel's unit tests), selftests (programs of its own), lockdep, ubsan or kasan
        (watchdogs, under one round of each of the study's workloads); may be given several times.
    variant
        A variant to ask beside the baseline, by its name in the report; may be given several times.
        Default: all.
    trust
        A compiler or linker that the study names by its path, and that may be started; may be given
        several times.
    output
        Folder for verify.json and the consoles; default: verify/ beside the study.
    json
        Print the result as JSON instead of a table.
    """
    from kernsmith.cli.console import result_console
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine import prepare
    from kernsmith.engine.forge import Forge
    from kernsmith.engine.oracles import select_oracles
    from kernsmith.engine.verify import check_boots
    from kernsmith.engine.verify import verify as ask
    from kernsmith.files import write_text
    from kernsmith.study.check import check_trust
    from kernsmith.study.file import read_study

    oracles = select_oracles(oracle)
    asked = read_study(study)
    check_trust(asked, trust)
    folder = (output or study.parent / "verify").absolute()
    with ProgressDisplay() as display:
        prepared = _with_variants(prepare(asked, display), variant)
        check_boots(prepared)
        folder.mkdir(parents=True, exist_ok=True)
        forge = Forge(prepared, display)
        forge.build()
        answers = ask(prepared, forge, oracles, folder, display)
    text = json_text.dumps(
        {"format": "kernsmith-verify", "version": 1, "answers": [asdict(a) for a in answers]},
        indent=1,
    )
    write_text(folder / "verify.json", text + "\n")
    if json:
        sys.stdout.write(text + "\n")
    else:
        from kernsmith.report.verify import print_verified

        print_verified(answers, result_console())
    return 0 if all(answer.works for answer in answers) else 1


def _with_variants(prepared: Prepared, names: Sequence[str]) -> Prepared:
    """With the baseline and these variants; all, if none is named."""
    known = {variant.name: variant for variant in prepared.variants}
    for name in names:
        if name not in known:
            raise UserError(f"the study has no variant {name!r}: it has {', '.join(known)}")
    baseline, *others = prepared.variants
    chosen = [each for each in others if not names or each.name in names]
    return replace(prepared, variants=(baseline, *chosen))
