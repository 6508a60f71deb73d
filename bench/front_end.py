# SPDX-License-Identifier: GPL-2.0-or-later
"""What this processor's front end does, and what a model of it does, one thing at a time.

``python bench/front_end.py [MODEL]``: small loops of which each does one thing over and over (jumps
that fit a buffer, code that fits a cache, pages that fit a TLB, directions and targets that fit a
predictor) are timed here as the programs of `kernsmith silicon` are, and the same files are
simulated. No program and no kernel has a part in it: what it tells can be written into a model
without tuning that on what judges it. Without words: the model `emeraldrapids`. Three minutes, and
up to ten more for a core that nobody shares; nothing should run beside it.
"""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from kernsmith import paths
from kernsmith._native import trace_costs
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.silicon import guest_kernel, simulated
from kernsmith.errors import KernsmithError
from kernsmith.kernel.artifact import file_digest
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.tcg import open_machine
from kernsmith.silicon.binaries import UNPLACED, Binary
from kernsmith.silicon.timing import all_cores, estimate, processor_name, take_turns

RUNS = 25
PATIENCE = 600.0
"""Seconds, for a core that nobody shares."""
UNITS = 4
EVENTS = 200_000
"""In a unit, at least."""
FEWEST = 60
"""Times round, so that the first one, in which nothing is known yet, is a small part."""
OFTEN = 10
"""In a unit: what comes again does so."""

UNIT = """\
#include "program.h"
void probe(long times);
const char *const program_name = "probe";
const unsigned program_units = {units};
int program_set_up(void) {{ return 0; }}
uint64_t program_unit(unsigned number) {{ probe({times}); return number; }}
"""
LOOP = """\
	.text
	.globl probe
	.balign 4096
probe:
	{first}
1:	{body}
	sub $1, %rdi
	jz 2f
	jmp 1b
2:	ret
	.data
	.balign 64
pattern:
	{data}
	.section .note.GNU-stack,"",@progbits
"""
NOPS = {
    2: "0x66,0x90",
    3: "0x0f,0x1f,0",
    4: "0x0f,0x1f,0x40,0",
    5: "0x0f,0x1f,0x44,0,0",
    7: "0x0f,0x1f,0x80,0,0,0,0",
    8: "0x0f,0x1f,0x84,0,0,0,0,0",
}
USUAL = (2, 3, 3, 3, 4, 4, 5, 5, 7, 8)
"""Sizes of instructions, about as often as compilers make them."""
XORSHIFT = "".join(
    f"mov %rax, %rcx\n {shift}, %rcx\n xor %rcx, %rax\n"
    for shift in ("shl $13", "shr $7", "shl $17")
)


BY_CHANCE = ("mov pattern, %rax", ".quad 88172645463325252")
"""Before and behind a loop that draws numbers, each from the one before."""


@dataclass(frozen=True)
class Probe:
    """A loop: what is in it, so many times; what goes before it."""

    what: str
    count: int
    body: str
    first: str = ""
    data: str = ""
    period: int = 1
    """Of what it repeats, in times round."""

    @property
    def times(self) -> int:
        return max(FEWEST, OFTEN * self.period, EVENTS // self.count)


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


def lone(lines: int) -> Probe:
    """A jump in each line, none of which follows another one: who brings the line behind each, too,
    needs room for twice as many. They are in all sets alike."""
    even = (f".balign 128\n.Lat{n}: jmp .Lat{n + 1}" for n in range(0, lines, 2))
    odd = (f".balign 128\n .skip 64\n.Lat{n}: jmp .Lat{n + 1}" for n in range(1, lines, 2))
    body = "\n".join(("jmp .Lat0", ".balign 4096", *even, ".balign 4096", *odd, f".Lat{lines}:"))
    return Probe(f"{lines:,} lines, none behind another, a jump each", lines, body)


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


def nop(size: int) -> str:
    """An instruction of so many bytes that does nothing."""
    return f".byte {NOPS[size]}"


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


def chances(branch: str, what: str) -> Probe:
    """Sixteen numbers, each drawn from the one before; no predictor sees the same ones again."""
    body = f".rept 16\n {XORSHIFT} test $4, %al\n {branch}\n.endr\n mov %rax, pattern"
    return Probe(what, 16, body, *BY_CHANCE)


BRANCH = """\
	test $4, %al
	jz 7f
	.balign 32
7:
"""
INDIRECT = """\
	mov %eax, %ecx
	shr $2, %ecx
	and $1, %ecx
	lea .Lways{n}(%rip), %rdx
	jmp *(%rdx,%rcx,8)
	.balign 64
.Lone{n}: jmp .Lboth{n}
	.balign 64
.Lother{n}: jmp .Lboth{n}
	.balign 64
.Lboth{n}:
	.pushsection .data
.Lways{n}: .quad .Lone{n}, .Lother{n}
	.popsection
"""
KINDS = {"a branch": BRANCH, "an indirect jump": INDIRECT}


def chosen(first: str, jumps: int, then: str = "") -> Probe:
    """A number by chance; a branch or an indirect jump by it, which nobody can know; so many jumps;
    then, where that is asked, another one by the same number: whether the history has it."""
    between = "jmp 7f\n .balign 32\n7:\n" * jumps
    asked = KINDS[then] if then else ""
    each = "\n".join((XORSHIFT, KINDS[first], between, asked.replace("{n}", "{n}b")))
    body = "\n".join((*(each.replace("{n}", str(n)) for n in range(4)), "mov %rax, pattern"))
    behind = f", {jumps} jumps" if jumps else ""
    known = f", {then} by the same number" if then else ""
    what = f"{first} by chance{behind}{known}"
    return Probe(what, 4, body, *BY_CHANCE)


def remembered(branches: int) -> Probe:
    """A branch by chance, so many that are never taken, and one by the same number."""
    between = "test %rdi, %rdi\n jz 2f\n" * branches
    body = "\n".join((XORSHIFT, BRANCH, between, BRANCH, "mov %rax, pattern"))
    what = f"a branch by chance, {branches} others, a branch by the same number"
    return Probe(what, 1, body, *BY_CHANCE)


NEXT = """\
	add ${step}, %rsi
	cmp ${end}, %rsi
	cmove %rdx, %rsi
"""
FROM_THE_FIRST = "mov $pattern, %rsi\n mov $pattern, %rdx"


def directions(branches: int, period: int) -> Probe:
    """Each branch goes its own way, which was drawn and comes again after so many times."""
    drawn = random.Random(period).choices((0, 1), k=branches * period)
    body = "\n".join(f"cmpb $0, {n}(%rsi)\n jz 7f\n nop\n7:" for n in range(branches))
    following = NEXT.format(step=branches, end=f"pattern + {len(drawn)}")
    what = f"directions of {branches:,}, again after {period:,}"
    data = f".byte {','.join(map(str, drawn))}"
    return Probe(what, branches, f"{body}\n{following}", FROM_THE_FIRST, data, period)


def targets(jumps: int, places: int, period: int) -> Probe:
    """Indirect jumps, each to its own places; the targets were drawn and come again."""
    drawn = random.Random(period).choices(range(places), k=period * jumps)
    ways = (f".balign 16\n.Lto{{0}}_{n}: jmp .Lbehind{{0}}" for n in range(places))
    jump = "\n".join(("jmp *8*{0}(%rsi)", *ways, ".Lbehind{0}:"))
    following = NEXT.format(step=8 * jumps, end=f"pattern + {8 * len(drawn)}")
    body = "\n".join((*(jump.format(n) for n in range(jumps)), following))
    data = ", ".join(f".Lto{n % jumps}_{place}" for n, place in enumerate(drawn))
    what = f"targets of {jumps:,}, {places:,} places each, again after {period:,}"
    return Probe(what, jumps, body, FROM_THE_FIRST, f".quad {data}", period)


def repeated(instruction: str, size: int) -> Probe:
    """A string instruction on so many quadwords, and what it needs in registers."""
    registers = f"lea pattern+4096, %rdi\n lea pattern, %rsi\n mov ${size}, %ecx"
    body = f"mov %rdi, %r8\n .rept 16\n {registers}\n rep {instruction}\n .endr\n mov %r8, %rdi"
    return Probe(f"rep {instruction} of {size}", 16, body, "xor %eax, %eax", ".skip 8192")


def probes() -> Iterator[Probe]:
    yield from (jumps(count, 64) for count in (64, 192, 384))
    yield from (jumps(count, 128) for count in (10240, 12288))
    yield from (jumps(count, 32) for count in (1024, 4096, 6144, 8192, 12288, 16384, 24576))
    yield from (jumps(12288, apart) for apart in (8, 16))
    yield jumps(49152, 16)
    yield from (mixed_jumps(count, 16) for count in (192, 1024, 4096, 8192))
    yield from (mixed_jumps(count, 64) for count in (896, 1024, 1280, 4096))
    yield from (crowded(lines, each) for lines, each in ((4608, 1), (4608, 2), (4352, 4)))
    yield from (there_and_back(count, 2048) for count in (4096, 5120, 5632, 8192))
    yield from (there_and_back(count, 8192) for count in (2048, 3584, 4096, 8192))
    yield from (there_and_back(count, 8192, "test %eax, %eax\n jz") for count in (2048, 8192))
    yield from (lone(lines) for lines in (256, 384, 448))
    yield distant(3000)
    yield from (straight(size, 4) for size in (8, 24, 128, 6144))
    yield from (straight(size, 8) for size in (8, 24, 128))
    yield from (runs(900, count) for count in (6, 7))
    yield from (mixed_runs(count) for count in (256, 384, 512, 768, 1024, 4096))
    yield from (calls(64, jumps, how) for jumps in (0, 2, 4) for how in ("call", "jmp"))
    yield from (nested(depth) for depth in (16, 24, 32, 40))
    yield from (pages(count) for count in (64, 96, 128, 256, 320, 384, 1536))
    yield from (pages(count, 3, rounds=True) for count in (128, 320))
    yield from (pages(count, indirect=True) for count in (256, 384))
    yield from (pages(count, lines) for count, lines in ((48, 4), (96, 4), (128, 4)))
    yield from (directions(1, period) for period in (4096, 16384, 65536))
    yield from (directions(64, period) for period in (64, 256, 512, 1024))
    yield from (directions(512, period) for period in (32, 64, 128))
    yield from (targets(1, 16, period) for period in (256, 1024, 2048, 4096))
    yield from (targets(1, 256, period) for period in (256, 512, 2048))
    yield from (targets(64, 4, period) for period in (16, 32, 64))
    yield from (targets(64, 16, period) for period in (16, 32))
    yield from (
        chosen(first, far, then) for first in KINDS for far in (0, 3) for then in ("", *KINDS)
    )
    yield from (remembered(branches) for branches in (64, 256))
    yield from (
        repeated(name, size) for name in ("stosq", "movsq") for size in (8, 12, 16, 24, 32, 64)
    )
    yield chances("nop", "a number by chance")
    yield chances("jz 7f\n nop\n7:", "and a branch by it, wrong every second time")


def compiled(probe: Probe, folder: Path) -> Path:
    folder.mkdir()
    (folder / "probe.s").write_text(
        LOOP.format(first=probe.first, body=probe.body, data=probe.data)
    )
    (folder / "unit.c").write_text(UNIT.format(units=UNITS, times=probe.times))
    programs = paths.shipped("guest/programs")
    words = ["gcc", "-O2", "-D_GNU_SOURCE", "-Wa,--no-warn", *UNPLACED, f"-I{programs}"]
    words += ["-o", "probe", "unit.c", "probe.s", str(programs / "program.c")]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "probe"


def failed(number: int, error: KernsmithError) -> None:
    raise error


def main(model: str = "emeraldrapids") -> None:
    machine = open_machine(model)
    with tempfile.TemporaryDirectory() as folder, ProgressDisplay() as display:
        kernel = guest_kernel(display)
        all_probes = list(probes())
        files = [compiled(probe, Path(folder) / str(n)) for n, probe in enumerate(all_probes)]
        found = take_turns(files, RUNS, all_cores(PATIENCE), failed)
        binaries = [Binary("probe", str(n), "default", file) for n, file in enumerate(files)]
        traces = simulated(machine, kernel, binaries, display, traced=True)
        table = Table("cycles each", f"here: {processor_name()}", Path(model).stem)
        for probe, file, runs in zip(all_probes, files, found, strict=True):
            trace = traces[file_digest(file)].trace
            assert trace is not None
            events = UNITS * probe.count * probe.times
            here = estimate(np.array([run.units for run in runs])) / events
            there = trace_costs(trace, [machine.cpu])[0][0][MODEL_CYCLES] / events
            table.add_row(probe.what, f"{here:.2f}", f"{there:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
