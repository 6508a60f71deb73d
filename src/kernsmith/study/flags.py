# SPDX-License-Identifier: GPL-2.0-or-later
"""Which flags of a compiler a study may name: one list for every place where flags come in.

A study file may be a stranger's, and a compiler's flags can do anything: start programs
(`-wrapper`), load code (`-fplugin=`), read and write any file (`-include`, `-fdump-…=`). make and
the shell expand flags, too, before the compiler sees them. So only flags of the families that are
listed here pass; none of them takes a path, starts a program or writes a file of its own choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernsmith.errors import UserError

# What a flag's value may consist of: no path, and nothing that make or a shell expands.
_VALUE = r"[A-Za-z0-9_.:,+-]+"

# -fNAME=VALUE: all of gcc's and clang's that take a number or a word, and change code.
_VALUED = "|".join(
    (
        "align-(functions|loops|jumps|labels)", "cf-protection", "constant-cfstrings",
        "denormal-fp-math", "excess-precision", "ffp-model", "fp-contract", "fp-model",
        "function-alignment", "inline-limit", "inline-max-stacksize", "ira-algorithm",
        "ira-region", "large-data-threshold", "live-patching", "lto", "lto-partition",
        "min-function-alignment", "pack-struct", "patchable-function-entry", "prefetch-loop-arrays",
        "reorder-blocks-algorithm", "sanitize(-recover|-trap)?", "sched-stalled-insns(-dep)?",
        "shuffle-functions", "simd-cost-model", "stack-reuse", "strict-flex-arrays", "tls-model",
        "tree-parallelize-loops", "trivial-auto-var-init", "veclib", "vect-cost-model",
        "visibility", "zero-call-used-regs",
    )
)  # fmt: skip

# -fNAME without a value: all, but those that load code, read profiles, write files beside the
# object, or put something else in the place of compiling.
_PROFILE = r"profile-(?!sample-accurate$|partial-training$|reorder-functions$|values$)"
_NO_OPTIMISATION = "|".join(
    (
        "auto-profile", "build-session", "callgraph-info", "compare-debug", "coverage", "crash",
        "cs-profile", "depfile", "directives-only", "dump", "embed", "emit", "implicit-module",
        "ltrans", "memory-profile", "module", "offload", "opt-info", "pass-plugin", "pch", "plugin",
        "prebuilt", "preprocessed", "proc-stat", _PROFILE, "record", "resolution", "save",
        "stack-usage", "syntax-only", "test-coverage", "thinlto-index", "time-trace", "use-ld",
        "wpa", "xray",
    )
)  # fmt: skip

# Options of LLVM's own: a number is harmless, a word only where the name does not say that it is
# a file. Options that load code, draw graphs (by programs of their own) or write files are none.
_LLVM_NAME = (
    r"(?!-*(as-secure|debug|info-output|ir-dump|load|polly-(im|ex)port|time-trace|track))"
    r"(?!.*(-(view|dot|show)\b|dump|jscop))"
    r"(?!.*(file|filename|path|paths|dir|directory|output|plugin)(=|$))--?[a-z][\w-]{2,}"
)
_LLVM_NUMBER = r"=(-?\d+(\.\d+)?|true|false)"
_LLVM_WORD = r"(?<!-log)(?<!-model)(?<!-base)(?<!-json)(?<!-prefix)=[A-Za-z][A-Za-z0-9_+-]*"

# How a family is called in messages and documents, and its flags, whole words.
FAMILIES: dict[str, str] = {
    "-O…": r"-O(\d|s|z|g|fast)?",
    "-f[no-]… without a value": rf"-f(no-[a-z0-9-]+|(?!no-|{_NO_OPTIMISATION})[a-z][a-z0-9-]*)",
    "-f…=VALUE for optimisations": rf"-f({_VALUED})={_VALUE}",
    "-fbasic-block-sections=all, labels or none": r"-fbasic-block-sections=(all|labels|none)",
    "-m… of the target": rf"-m(?!llvm)[a-z0-9][A-Za-z0-9.-]*(={_VALUE})?",
    "-mllvm -OPTION[=VALUE]": rf"-mllvm {_LLVM_NAME}({_LLVM_NUMBER}|{_LLVM_WORD})?",
    "--param NAME=NUMBER": r"--param[ =][a-z][a-z0-9-]*=[a-z0-9-]+",
    "-g…": r"-g([0-3]|gdb[0-3]?|dwarf(-[2-5])?|(no-)?strict-dwarf|line-tables-only|mlt|"
    r"(no-)?column-info|(no-)?inline-line-tables|(no-)?statement-frontiers|z(=\w+)?)?",
    "-W… without a comma": r"-w|-W[a-z][a-z0-9+-]{2,}(=[a-z0-9-]+)?|-Wall|-Wextra",
    "-Wa,-m…": r"-Wa,-m[a-z][A-Za-z0-9-]*(=[a-z0-9+-]+)?",
    "-DNAME[=WORD] and -UNAME": r"-D[A-Za-z_]\w*(=[\w.+-]*)?|-U[A-Za-z_]\w*",
    "-std=…": r"-std=[a-z0-9]+",
}
_ALLOWED = re.compile("|".join(f"(?:{pattern})" for pattern in FAMILIES.values()), re.ASCII)
# Flags whose value is the next word.
_WITH_WORD = ("-mllvm", "--param")

# Why the best known of the others are refused; the list above decides, this only explains.
_REASONS: dict[str, str] = {
    r".*[^\w=+,.:/@% -].*": "a character that make or a shell may expand",
    r"@.*": "@FILE reads flags from a file",
    r"-wrapper.*": "-wrapper starts another program",
    r"-f(pass-)?plugin.*|-iplugindir.*|-Xclang|.*-load.*": "it loads code into the compiler",
    r"-B.*|--?specs.*|--?config.*|-fuse-ld.*|-no-canonical-prefixes": "it chooses other programs",
    r"-W[alp],.*|-X.*": "it hands any flag to another program",
    r"-o.*|-dump.*|-save.*|--?save-temps.*|-f(dump|save|time-trace|stack-usage|opt-info).*|-M.*":
        "it writes files",
    r"-i.*|-I.*|-L.*|-l.*|--?sysroot.*|--?include.*|-fprofile.*|-fauto-profile.*|.*/.*":
        "it names a file or a folder",
    r"[^-].*": "flags start with '-'",
}  # fmt: skip


def check_flags(words: Sequence[str]) -> None:
    """That a study may name these flags; each word by itself, as the compiler gets them.

    Raises:
        UserError: a flag of no family that is allowed; one sentence with the flag, why it is
            refused where that is known, and the families.
    """
    for flag in _joined(words):
        if not _ALLOWED.fullmatch(flag):
            raise UserError(
                f"the flag {_short(flag)} is not allowed in a study ({_reason(flag)}): allowed "
                f"are {', '.join(FAMILIES)}"
            )


def _joined(words: Sequence[str]) -> list[str]:
    """The flags, those of two words as one with a blank."""
    flags: list[str] = []
    for word in words:
        if flags and flags[-1] in _WITH_WORD:
            flags[-1] += f" {word}"
        else:
            flags.append(word)
    return flags


def _reason(flag: str) -> str:
    found = (why for pattern, why in _REASONS.items() if re.fullmatch(pattern, flag, re.DOTALL))
    return next(found, "it is none of a kind that is known to be harmless")


def _short(flag: str) -> str:
    return repr(flag if len(flag) <= 80 else f"{flag[:77]}…")
