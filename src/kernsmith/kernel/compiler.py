# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler as kbuild calls it: through ccache, with paths that hold for every source.

kbuild names the source by its absolute path, and two revisions of it lie in two folders: ccache
would take all of their objects for different ones. So kbuild's compiler is a script beside kbuild's
output that writes `../source/…` instead, where `source` is a link to the tree. Commits that touch
few files then share all other objects. Objects are the same with and without it: file names in
them are relative to the source in any case (`-ffile-prefix-map`).

What `.incbin` brings in is no part of an object's key when ccache works without the preprocessor's
output (see `compile_cache`): assembly, and C with that word in it, is never taken from the cache.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

_SCRIPT = "compiler"
_LINK = "source"

# The word is taken apart at the first place of the path; kbuild has at most one in a word.
_TEXT = """#!/bin/sh
# The compiler behind ccache, with the path of the source as it is for every source.
tree={tree}
if [ "$PWD" = {output} ]; then
    for word do
        shift
        case $word in
        *.S) export CCACHE_DISABLE=1 ;;
        *.c) if grep -qs incbin "$word"; then export CCACHE_DISABLE=1; fi ;;
        esac
        case $word in
        *"$tree"*) word=${{word%%"$tree"*}}../{link}${{word#*"$tree"}} ;;
        esac
        set -- "$@" "$word"
    done
fi
exec ccache "$@"
"""


def through_cache(folder: Path, compiler: str) -> str:
    """What kbuild gets as its compiler for the kernel in a folder; as it is without ccache."""
    return f"{folder / _SCRIPT} {compiler}" if shutil.which("ccache") else compiler


def without_cache(compiler: str) -> str:
    """The compiler alone."""
    first, _, rest = compiler.partition(" ")
    return rest if rest and Path(first).name in (_SCRIPT, "ccache") else compiler


def write_compiler(folder: Path, tree: Path) -> None:
    """Put the script, and the link to the source, beside kbuild's output in a kernel's folder."""
    link = folder / _LINK
    link.unlink(missing_ok=True)
    link.symlink_to(tree)
    script = folder / _SCRIPT
    text = _TEXT.format(
        tree=shlex.quote(str(tree)), output=shlex.quote(str(folder / "out")), link=_LINK
    )
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
