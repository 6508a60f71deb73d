# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops of jumps, lines, calls and pages: what prediction, fetch and their buffers make of them."""

import random
from itertools import pairwise

from probes.probe import Probe, nop

USUAL = (2, 3, 3, 3, 4, 4, 5, 5, 7, 8)
"""Sizes of instructions, about as often as compilers make them."""


def jumps(count: int, apart: int) -> Probe:
    """Each to the next one."""
    body = f".rept {count}\n jmp 7f\n .balign {apart}\n7:\n.endr"
    return Probe(f"{count:,} jumps, {apart} bytes apart", count, body)


def followed(order: list[int]) -> dict[int, str]:
    """What each place leads to, in this order."""
    return dict(zip(order, [*map(str, order[1:]), "end"], strict=True))


def shuffled(count: int, draw: random.Random) -> dict[int, str]:
    """The same of so many places in an order that is drawn; the first one stays."""
    order = list(range(1, count))
    draw.shuffle(order)
    return followed([0, *order])


def mixed_jumps(count: int, apart: int) -> Probe:
    """Each once, in an order that is drawn."""
    behind = shuffled(count, random.Random(count))
    body = "\n".join(f".Lat{n}: jmp .Lat{behind[n]}\n .balign {apart}" for n in range(count))
    return Probe(f"{count:,} jumps, {apart} bytes apart, mixed", count, f"{body}\n.Latend:")


def there_and_back(count: int, apart: int, how: str = "jmp") -> Probe:
    """Two jumps a line, each to one that lies so many bytes before or behind it: over 2,048 none
    leaves its page, over 4,096 or more all do. how: the jump, or a conditional branch that is
    always taken."""
    each = apart // 32
    pairs = (
        (begin + n, begin + each + n) for begin in range(0, count, 2 * each) for n in range(each)
    )
    order = [place for pair in pairs for place in pair if place < count]
    behind = followed(order)
    places = "\n".join(f".Lat{n}: {how} .Lat{behind[n]}\n .balign 32" for n in range(count))
    body = f"jmp .Lat{order[0]}\n .balign 4096\n{places}\n.Latend:"
    what = "jumps" if how == "jmp" else "branches that are taken"
    return Probe(f"{count:,} {what}, {apart:,} bytes there and back", count, body, "xor %eax, %eax")


def at(places: list[int], what: str) -> Probe:
    """Jumps at these places of a MiB, each to the next one."""
    behind = followed(places)
    ordered = sorted(places)
    skipped = [place - before - 5 for before, place in pairwise([-5, *ordered])]
    code = (
        f".skip {skip}\n.Lat{place}: .byte 0xe9\n .long .Lat{behind[place]} - . - 4"
        for skip, place in zip(skipped, ordered, strict=True)
    )
    body = "\n".join((f"jmp .Lat{places[0]}", f".balign {1 << 20}", *code, ".Latend:"))
    return Probe(what, len(places), body)


def taken_for_another(line: int = 0, entry: int = 0) -> Probe:
    """Four jumps. Buffers that are asked a block ahead take the last for the second: the lines of
    those in front of both choose one set, and they have one tag. line, entry: in which bits of its
    address the jump in front of the last, or the last itself, is elsewhere."""
    places = [0x1000, 0x2040, 0x1000 ^ 0x30180 ^ line, 0x2040 ^ 0x30030 ^ entry]
    share = [name for name, other in (("a set", line), ("a tag", entry)) if not other]
    return at(places, f"four jumps, of which two share {' and '.join(share)}")


def one_set(jumps: int) -> Probe:
    """Jumps of which each line chooses the same set of such buffers, and each entry another tag."""
    places = [n << 15 | n << 6 for n in range(jumps)]
    return at(places, f"{jumps} jumps of one set")


def lone(lines: int) -> Probe:
    """A jump in each line, none of which follows another one: who brings the line behind each, too,
    needs room for twice as many. They are in all sets alike."""
    even = (f".balign 128\n.Lat{n}: jmp .Lat{n + 1}" for n in range(0, lines, 2))
    odd = (f".balign 128\n .skip 64\n.Lat{n}: jmp .Lat{n + 1}" for n in range(1, lines, 2))
    body = "\n".join(("jmp .Lat0", ".balign 4096", *even, ".balign 4096", *odd, f".Lat{lines}:"))
    return Probe(f"{lines:,} lines, none behind another, a jump each", lines, body)


def visited(lines: int, between: str, *, what: str, first: str = "", data: str = "") -> Probe:
    """Lines in an order that is drawn, from each of which the same code is called: between two that
    L1i may not have is one that it has."""
    behind = shuffled(lines, random.Random(lines))
    each = (f".balign 64\n.Lat{n}: call .Lbetween\n jmp .Lat{behind[n]}" for n in range(lines))
    body = "\n".join(
        (*each, "jmp .Latend", ".balign 4096", f".Lbetween: {between}\n ret", ".Latend:")
    )
    return Probe(f"{lines:,} lines, {what} between two of them", lines, body, first, data)


def between_jumps(lines: int, jumps: int) -> Probe:
    """So many jumps are called, a line each: prediction may run ahead while these are fetched."""
    called = "\n".join([".balign 64\n jmp 7f\n .balign 64\n7:"] * jumps)
    return visited(lines, called, what=f"{jumps} jumps")


def distant(lines: int) -> Probe:
    """Jumps to lines 256 bytes apart, at changing places in each: target buffers have them, and an
    L2 of 512 KiB has no room for all."""
    each = (f".skip {n * 14 % 58}\n.Lat{n}: jmp .Lat{n + 1}\n .balign 256" for n in range(lines))
    body = "\n".join(("jmp .Lat0", ".balign 256", *each, f".Lat{lines}:"))
    return Probe(f"{lines:,} lines, 256 bytes apart, a jump anywhere", lines, body)


def in_each(jumps: int) -> str:
    """As a probe's name has it."""
    return f"{jumps} jumps in each" if jumps > 1 else "a jump each"


def crowded(lines: int, each: int) -> Probe:
    """So many jumps in each of many lines, of which an L2 of 1 MiB has no room for all."""
    rest = f".rept {each - 1}\n jmp 7f\n .balign {64 // each}\n7:\n.endr"
    body = f".balign 256\n .rept {lines}\n {rest}\n jmp 7f\n .balign 256\n7:\n.endr"
    return Probe(f"{lines:,} lines, 256 bytes apart, {in_each(each)}", lines, body)


def straight(kibibytes: int, size: int) -> Probe:
    """Instructions of so many bytes that do nothing. By lines of 64 bytes."""
    body = f".rept {kibibytes * 1024 // size}\n {nop(size)}\n.endr"
    return Probe(f"a line of {size}-byte nops, of {kibibytes:,} KiB", kibibytes * 16, body)


def runs(count: int, instructions: int) -> Probe:
    """Runs of so many instructions in 32 bytes each, the last of which is a jump."""
    plain = "\n".join([nop(4)] * (instructions - 1))
    body = f".balign 32\n .rept {count}\n {plain}\n jmp 7f\n .balign 32\n7:\n.endr"
    return Probe(f"{count:,} runs of {instructions} instructions, 32 bytes apart", count, body)


def mixed_runs(count: int) -> Probe:
    """Runs of 3 to 15 instructions of usual sizes, back to back, each once in an order that is
    drawn. By instructions."""
    draw = random.Random(count)
    behind = shuffled(count, draw)
    sizes = [draw.choices(USUAL, k=draw.randrange(2, 15)) for _ in range(count)]
    pieces = (
        "\n".join((f".Lat{n}:", *map(nop, each), f"jmp .Lat{behind[n]}"))
        for n, each in enumerate(sizes)
    )
    instructions = count + sum(map(len, sizes))
    body = "\n".join(("jmp .Lat0", *pieces, ".Latend:"))
    return Probe(f"{count:,} runs of 3 to 15 instructions, mixed", instructions, body)


def calls(count: int, jumps: int = 0, how: str = "call") -> Probe:
    """Of functions in lines of their own, in each of which are so many jumps. how: `call`, or `jmp`
    to the same code, which jumps back."""
    sites, functions = [], []
    within = "\n".join(["jmp 7f\n nop\n7:"] * jumps)
    for n in range(count):
        back = "ret" if how == "call" else f"jmp .Lbehind{n}"
        sites.append(f".balign 16\n {how} .Lfunction{n}\n.Lbehind{n}:")
        functions.append(f".balign 64\n.Lfunction{n}: {within}\n {back}")
    body = "\n".join((*sites, "jmp .Lover", *functions, ".Lover:"))
    what = "calls" if how == "call" else "jumps there and back"
    more = f", {jumps} jumps in each" if jumps else ""
    return Probe(f"{count:,} {what}{more}", count, body)


def nested(depth: int, times: int = 16) -> Probe:
    """Calls of functions that call the next one, so deep. By calls."""
    chain = [f".balign 64\n.Lfunction{n}: call .Lfunction{n + 1}\n ret" for n in range(depth - 1)]
    last = f".balign 64\n.Lfunction{depth - 1}: ret"
    sites = [".balign 16\n call .Lfunction0"] * times
    body = "\n".join((*sites, "jmp .Lover", *chain, last, ".Lover:"))
    return Probe(f"calls, {depth} deep", depth * times, body)


def pages(count: int, lines: int = 1, *, rounds: bool = False, indirect: bool = False) -> Probe:
    """Jumps to so many lines of each, at changing places in the page. lines: four at most. rounds:
    to a line of each page before the next line of any. indirect: by a register that has just got
    the target."""
    places = [(page, line) for page in range(count) for line in range(lines)]
    order = sorted(places, key=lambda place: place[::-1]) if rounds else places
    names = {place: f".Lpage{number}" for number, place in enumerate(places)}
    behind = dict(zip(order, [*(names[place] for place in order[1:]), ".Lend"], strict=True))
    jump = "lea {}(%rip), %rax\n jmp *%rax" if indirect else "jmp {}"
    body = [f"jmp {names[order[0]]}"]
    for page, line in places:
        if line == 0:
            body.append(".balign 4096")
            body.append(f".skip {page * lines * 7 % 61 * 64}")
        body.append(f".balign 64\n{names[page, line]}: {jump.format(behind[page, line])}")
    body.append(".balign 4096\n.Lend:")
    what = f"{lines} times one after the other" if rounds else in_each(lines)
    what = "an indirect jump each" if indirect else what
    return Probe(f"{count:,} pages, {what}", len(places), "\n".join(body))
