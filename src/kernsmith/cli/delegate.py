# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith delegate`: other ways of compiling some objects, for any make."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from kernsmith.errors import UserError
from kernsmith.study.objects import Assembler, ObjectRule, check_rules, rules_of

delegate = App(name="delegate", help="Compile some objects in another way than the others.")


@delegate.command
def cc(
    compiler: str,
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    study: Path | None = None,
    objects: str = "",
    step: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    assembler: Annotated[Assembler, Parameter(name=["--assembler", "--assem"])] = "",
    show: Annotated[bool, Parameter(name="--print", negative=())] = False,
) -> int:
    """Be the compiler of a make: as COMPILER, but for objects that rules name.

    Rules are the [[objects]] of a study, or --step. An object with steps on its assembly is
    compiled to assembly, handed through them, and assembled; it appears whole or not at all.
    Give make what --print says, which starts no Python for each object.

    Shipped steps: pad=SEED, no-prefetch, count-entries, swap-comparison=FUNCTION[:NUMBER]. A
    program of yours is named by its path: it reads assembly on standard input and writes it on
    standard output.

    Examples:

        make LLVM=-22 CC="$(kernsmith delegate cc clang-22 --print --step '**:pad=7')"

        make CC="$(kernsmith delegate cc gcc --print --step 'fs/*.o:./filter.py' --assembler gnu)"

        make LLVM=-22 CC="$(kernsmith delegate cc clang-22 --print --study studies/delegate.toml
        --objects padded)"

    Parameters
    ----------
    compiler
        The compiler's program.
    words
        Those of one compilation; behind `--`.
    study
        A study file; its [[objects]] are the rules.
    objects
        Which of these hold beside those without a name, as the factor `objects` has it.
    step
        PATTERN:STEP, for objects whose names fit (fs/pipe.o, fs/*.o, ** for all); may be given
        several times.
    assembler
        What assembles the objects of --step: gnu or clang; default: the compiler's own.
    show
        Print the words that make is to take for its compiler, and compile nothing.
    """
    from kernsmith import paths
    from kernsmith.kernel.object_rules import place_rules

    program = paths.shipped("target/release/kernsmith-compiler")
    if not program.exists():
        raise UserError(f"{program.name} is not built yet: run make setup")
    rules = (*_of_study(study, objects), *(_rule(each, assembler) for each in step))
    if not rules:
        raise UserError("no objects are to be compiled in another way: give --study or --step")
    variable, file = place_rules(rules, compiler)
    if not show:
        os.execve(program, [str(program), compiler, *words], {**os.environ, variable: str(file)})
    command = ["env", f"{variable}={file}", str(program), compiler]
    sys.stdout.write(shlex.join(command) + "\n")
    return 0


def _of_study(study: Path | None, level: str) -> tuple[ObjectRule, ...]:
    from kernsmith.study.file import read_study

    if study is None:
        return ()
    rules = read_study(study).objects
    if not rules:
        raise UserError(f"{study} has no [[objects]]")
    return rules_of(rules, level)


def _rule(text: str, assembler: Assembler) -> ObjectRule:
    """`PATTERN:STEP` of the command line, where a step may be a program of the user's."""
    pattern, colon, step = text.partition(":")
    if not colon or not step:
        raise UserError(f"--step takes PATTERN:STEP, such as 'fs/*.o:pad=7', not {text!r}")
    if "/" not in step:
        rule = ObjectRule((pattern,), steps=(step,), assembler=assembler)
        check_rules([rule])
        return rule
    program = Path(step).expanduser().absolute()
    if not os.access(program, os.X_OK) or " " in str(program):
        raise UserError(f"--step: {program} is no program that can be started, without blanks")
    check_rules([ObjectRule((pattern,), steps=("no-prefetch",))])
    return ObjectRule((pattern,), steps=(str(program),), assembler=assembler)
