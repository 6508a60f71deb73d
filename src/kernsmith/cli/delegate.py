# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith delegate`: other ways of compiling objects and of linking, for any make."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kernsmith.errors import UserError
from kernsmith.study.objects import Assembler, ObjectRule, check_rules, rules_of

if TYPE_CHECKING:
    from kernsmith.study.links import LinkRule

delegate = App(
    name="delegate", help="Compile some objects, or link, in another way than the others."
)


@delegate.command
def cc(
    compiler: str,
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    study: Path | None = None,
    objects: str = "",
    step: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    by: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    fallback: str = "",
    assembler: Annotated[Assembler, Parameter(name=["--assembler", "--assem"])] = "",
    show: Annotated[bool, Parameter(name="--print", negative=())] = False,
) -> int:
    """Be the compiler of a make: as COMPILER, but for objects that rules name.

    Rules are the [[objects]] of a study, --step, or --by. An object with steps on its assembly is
    compiled to assembly, handed through them, and assembled; it appears whole or not at all.
    Give make what --print says, which starts no Python for each object.

    Shipped steps: pad=SEED, no-prefetch, prefetch=BYTES, align-loops=BYTES, align-jumps,
    count-entries, swap-comparison=FUNCTION[:NUMBER]. A program of yours is named by its path: it
    reads assembly on standard input and writes it on standard output.

    What is compiled goes through ccache if there is one: with other rules, only objects that they
    compile in another way than before are compiled again.

    Examples:

        make LLVM=-22 CC="$(kernsmith delegate cc clang-22 --print --step '**:pad=7')"

        make CC="$(kernsmith delegate cc gcc --print --step 'fs/*.o:./filter.py' --assembler gnu)"

        make LLVM=-22 CC="$(kernsmith delegate cc clang-22 --print --study studies/delegate.toml
        --objects pad-1)"

        make CC="$(kernsmith delegate cc gcc-12 --print --by 'lib/**:tcc' --fallback gcc-12)"

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
    by
        PATTERN:COMPILER, another compiler for objects whose names fit, which is told what it knows
        of the make's options; may be given several times.
    fallback
        The compiler of what those of --by cannot compile; default: such an object is an error.
    assembler
        What assembles the objects of --step: gnu or clang; default: the compiler's own.
    show
        Print the words that make is to take for its compiler, and compile nothing.
    """
    from kernsmith import paths
    from kernsmith.kernel.object_rules import parting_flag, place_rules

    program = paths.shipped("target/release/kernsmith-compiler")
    if not program.exists():
        raise UserError(f"{program.name} is not built yet: run make setup")
    rules = (
        *_of_study(study, objects),
        *(_rule(each, assembler) for each in step),
        *(_rule_by(each, fallback) for each in by),
    )
    if not rules:
        raise UserError("no objects are compiled in another way: give --study, --step or --by")
    if fallback and not by:
        raise UserError(f"--fallback {fallback} stands in for the compilers of --by, and has none")
    for rule in rules:
        if reason := parting_flag(rule):
            raise UserError(f"objects {', '.join(rule.match)}: {reason}")
    variable, file = place_rules(rules, compiler)
    return _become([str(program), compiler], words, {variable: file}, show=show)


@delegate.command
def ld(
    linker: str,
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    study: Path | None = None,
    links: str = "",
    others: str = "",
    step: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    order: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    script: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    show: Annotated[bool, Parameter(name="--print", negative=())] = False,
) -> int:
    """Be the linker of a make: as LINKER, but for links that rules name.

    Rules are the [[links]] of a study, or the other options. What a link with a rule writes appears
    whole or not at all, and kbuild checks it as ever. Give make what --print says.

    Shipped steps: first=PATTERN (objects that are linked before all others), align=SECTION:BYTES
    (where the linker script gathers a section).

    Examples:

        make LLVM=-22 LD="$(kernsmith delegate ld ld.lld-22 --print --others bfd)"

        make LD="$(kernsmith delegate ld ld.bfd --print --step 'first=fs/*.o' --script ./filter.py)"

    Parameters
    ----------
    linker
        The linker's program, which links vmlinux.
    words
        Those of one link; behind `--`.
    study
        A study file; its [[links]] are the rules.
    links
        Which of these hold beside those without a name, as the factor `links` has it.
    others
        Another linker (lld, lld-22, bfd) for modules, and where several objects become one (-r).
    step
        A shipped step on the link of vmlinux; may be given several times.
    order
        A program of yours that reads the objects of vmlinux, one a line, and writes them in another
        order.
    script
        A program of yours that reads the linker script of vmlinux and writes another one.
    show
        Print the words that make is to take for its linker, and link nothing.
    """
    from kernsmith import paths
    from kernsmith.kernel.link_rules import WORD, place_link_rules
    from kernsmith.study.links import MODULES, RELOCATABLE, VMLINUX, LinkRule, check_links

    program = paths.shipped("target/release/kernsmith-compiler")
    if not program.exists():
        raise UserError(f"{program.name} is not built yet: run make setup")
    own = [LinkRule((MODULES, RELOCATABLE), others)] if others else []
    own += [LinkRule((VMLINUX,), steps=step)] if step else []
    check_links(own)
    programs = [f"order:{_program(each, '--order')}" for each in order]
    programs += [f"script:{_program(each, '--script')}" for each in script]
    own += [LinkRule((VMLINUX,), steps=tuple(programs))] if programs else []
    rules = (*_links_of_study(study, links), *own)
    if not rules:
        raise UserError(
            "nothing is linked in another way: give --study, --others, --step, --order or --script"
        )
    variable, file = place_link_rules(rules)
    return _become([str(program), WORD, linker], words, {variable: file}, show=show)


@delegate.command
def report(kernel: str, /, *, tree: Path | None = None, json: bool = False) -> int:
    """Tell which objects each compiler took, and why others went to the fallback; what other
    linkers have linked; and, of a make of yours, which patterns no object fits.

    Examples:

        kernsmith delegate report 8cbd96d6c2a2

        kernsmith delegate report ~/.cache/kernsmith/rules/0f1e2d3c4b5a69788796.rules

        kernsmith delegate report ~/.cache/kernsmith/rules/0f1e2d3c4b5a69788796.links

    Parameters
    ----------
    kernel
        A kernel, by its folder, its vmlinux or its key; or the file of rules that --print names in
        the words for make.
    tree
        The folder that make worked in, where several used the same rules.
    json
        Print all objects, files and patterns as JSON instead of tables.
    """
    from kernsmith.cli.console import result_console
    from kernsmith.kernel import link_rules, object_rules
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.taken_objects import read_linked, read_taken, unmatched
    from kernsmith.report.taken_objects import (
        print_linked,
        print_taken,
        print_unmatched,
        taken_json,
    )

    path = Path(kernel).expanduser()
    patterns: list[str] = []
    if path.suffix in (object_rules.SUFFIX, link_rules.SUFFIX):
        rules = links = path
        where = _tree(path, tree)
        if path.suffix == object_rules.SUFFIX and path.exists():
            patterns = unmatched(path, where)
    else:
        folder = named_kernel(kernel).folder
        rules, links = folder / object_rules.FILE, folder / link_rules.FILE
        where = ""
    taken, linked = read_taken(rules, where), read_linked(links, where)
    if not taken and not linked and not patterns:
        if not rules.exists() and not links.exists() and rules == path:
            raise UserError(f"there is no file of rules {path}")
        raise UserError(f"{kernel}: nothing of it went to another compiler or linker")
    if json:
        sys.stdout.write(taken_json(taken, linked, patterns))
        return 0
    if taken:
        print_taken(taken, result_console())
    if linked:
        print_linked(linked, result_console())
    if patterns:
        print_unmatched(patterns, result_console())
    return 0


def _tree(rules: Path, asked: Path | None) -> str:
    """The folder of the make that is asked about, as what rules did has it."""
    from kernsmith.kernel.taken_objects import trees_of

    known = trees_of(rules)
    if asked is None and len(known) < 2:
        return "".join(known)
    named = str(asked.expanduser().resolve()) if asked else ""
    if named not in known:
        raise UserError(
            f"{rules.name} was used in {', '.join(known) or 'no folder'}: name one by --tree"
        )
    return named


def _become(
    command: list[str], words: tuple[str, ...], variables: dict[str, Path], *, show: bool
) -> int:
    """Start the program in the place of this one, or show how a make does it."""
    if not show:
        named = {name: str(value) for name, value in variables.items()}
        os.execve(command[0], [*command, *words], {**os.environ, **named})
    pairs = [f"{name}={value}" for name, value in variables.items()]
    sys.stdout.write(shlex.join(["env", *pairs, *command]) + "\n")
    return 0


def _of_study(study: Path | None, level: str) -> tuple[ObjectRule, ...]:
    from kernsmith.study.file import read_study

    if study is None:
        return ()
    rules = read_study(study).objects
    if not rules:
        raise UserError(f"{study} has no [[objects]]")
    return rules_of(rules, level)


def _links_of_study(study: Path | None, level: str) -> tuple[LinkRule, ...]:
    from kernsmith.study.file import read_study
    from kernsmith.study.links import links_of

    if study is None:
        return ()
    rules = read_study(study).links
    if not rules:
        raise UserError(f"{study} has no [[links]]")
    return links_of(rules, level)


def _rule_by(text: str, fallback: str) -> ObjectRule:
    """`PATTERN:COMPILER` of the command line."""
    pattern, colon, compiler = text.partition(":")
    if not colon or not compiler:
        raise UserError(f"--by takes PATTERN:COMPILER, such as 'lib/**:tcc', not {text!r}")
    rule = ObjectRule((pattern,), compiler=compiler, fallback=fallback)
    check_rules([rule])
    return rule


def _rule(text: str, assembler: Assembler) -> ObjectRule:
    """`PATTERN:STEP` of the command line, where a step may be a program of the user's."""
    pattern, colon, step = text.partition(":")
    if not colon or not step:
        raise UserError(f"--step takes PATTERN:STEP, such as 'fs/*.o:pad=7', not {text!r}")
    if "/" not in step:
        rule = ObjectRule((pattern,), steps=(step,), assembler=assembler)
        check_rules([rule])
        return rule
    program = _program(Path(step), "--step")
    check_rules([ObjectRule((pattern,), steps=("no-prefetch",))])
    return ObjectRule((pattern,), steps=(str(program),), assembler=assembler)


def _program(path: Path, option: str) -> Path:
    """A program of the user's, as rules name it."""
    program = path.expanduser().absolute()
    if not os.access(program, os.X_OK) or " " in str(program):
        raise UserError(f"{option}: {program} is no program that can be started, without blanks")
    return program
