// SPDX-License-Identifier: GPL-2.0-or-later
//! What is fetched for the blocks of a piece: lines, pages, and micro-ops.
//!
//! The line behind one that is asked for is asked for, too, where the model says so: Smith, *Sequential
//! Program Prefetching in Memory Hierarchies* (IEEE Computer 11(12), 1978).

use std::ops::Range;

use kernsmith_arch::PageMap;

use super::ahead::fetch_ahead;
use super::batch::{Batch, LED, OPEN, OPEN_AT, PRESENT, Rare, Room, SAME, Step};
use super::costs::Costs;
use super::flow::{Flow, REDIRECTED};
use super::op_cache::Runs;
use super::placed::{Numbering, Placed};
use super::{Counters, CpuModel, InstructionTlbs, SetAssociative, Stretch};

/// So many blocks before it is looked at, the host is asked for what is known of a block.
const AHEAD: usize = 16;

/// In [`Room::owners`]: where the place in the block begins.
const ORDINAL_AT: u32 = 16;

/// TLBs, and the page that was translated last.
pub(super) struct Pages {
    tlbs: InstructionTlbs,
    numbering: Numbering,
    /// Its lines, the first and the last.
    lines: (u32, u32),
}

impl Pages {
    pub fn new(model: &CpuModel, pages: PageMap) -> Self {
        let mut tlbs = InstructionTlbs::new(model);
        tlbs.map(pages);
        Self {
            tlbs,
            numbering: Numbering {
                shift: model.line_bytes.trailing_zeros(),
            },
            lines: (u32::MAX, 0),
        }
    }

    /// The bit of a line's number that says its mode.
    pub fn mode(&self) -> u32 {
        self.numbering.mode()
    }

    /// A block that is not all in the page translated last, and which lines were entered in it.
    #[inline(never)]
    fn translate(
        &mut self,
        (blocks, number): (&Placed, u32),
        entered: Range<usize>,
        (counters, costs): (&mut [Counters; 2], &Costs),
        walks: &mut Vec<(u32, u32)>,
    ) {
        let (start, last) = blocks.span(number);
        let kernel = blocks.fetched[number as usize].line >> self.mode() == 1;
        let counters = &mut counters[usize::from(kernel)];
        for line in entered {
            let before = (counters.itlb_misses, counters.stlb_misses);
            self.tlbs.fetch(start, last, counters);
            let walked = (counters.itlb_misses - before.0) * costs.itlb
                + (counters.stlb_misses - before.1) * costs.stlb;
            if walked > 0 {
                walks.push((line as u32, walked as u32));
            }
        }
        let page = self.tlbs.current();
        self.lines = (
            self.numbering.of(page.start, kernel),
            self.numbering.of(page.last, kernel),
        );
    }
}

impl Batch {
    /// Which lines are entered, where their pages are, and what the micro-op cache is asked for.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn fetch(&mut self, flow: &Flow, room: &mut Room) {
        room.steps.resize(flow.entered.len(), Step::default());
        room.walks.clear();
        let (lines, keys, owners) = (
            &mut room.lines[..],
            &mut room.keys[..],
            &mut room.owners[..],
        );
        let (blocks, mode) = (&self.blocks.fetched[..], self.pages.mode());
        let (mut entered, mut asked) = (0, 0);
        let (mut line, mut window, mut key) = (self.line, self.window, self.key);
        let steps = room.steps.iter_mut().zip(&room.led).zip(&flow.entered);
        for (place, ((step, led), number)) in (0..).zip(steps) {
            if let Some(soon) = flow.entered.get(place as usize + AHEAD) {
                fetch_ahead(blocks, *soon as usize);
            }
            let block = &blocks[*number as usize];
            // Written in any case, and kept when it is another line than the one before.
            let (first, begun, more) = (block.line, entered, usize::from(block.more_lines));
            let is_new = first != line;
            line = first + more as u32;
            lines[entered] = first;
            entered += usize::from(is_new);
            if more <= 1 {
                lines[entered] = line;
            } else {
                for (next, place) in (first + 1..).zip(&mut lines[entered..entered + more]) {
                    *place = next;
                }
            }
            entered += more;
            if first < self.pages.lines.0 || line > self.pages.lines.1 {
                let told = (&mut self.counters, &self.costs);
                self.pages.translate(
                    (&self.blocks, *number),
                    begun..entered,
                    told,
                    &mut room.walks,
                );
            }
            let same = block.first_window == window && led & REDIRECTED == 0;
            window = block.last_window;
            *step = Step {
                led: *led,
                lines: entered as u32 | (led & if is_new { LED } else { 0 }),
                supply: block.supply[usize::from(same)],
                ops: u32::from(block.ops) | first >> mode << 31 | if same { SAME } else { 0 },
            };
            if let Some(runs) = &mut self.runs {
                let told = (&self.blocks, *number, same);
                let open = ask_by_run(
                    runs,
                    told,
                    (&mut keys[asked..], &mut owners[asked..]),
                    place,
                );
                step.ops |= open.0;
                asked += open.1;
                continue;
            }
            // Without a micro-op cache there are none.
            if block.keys <= 2 {
                keys[asked] = block.key[0];
                owners[asked] = place;
                asked += usize::from(block.key[0] != key && block.keys > 0);
                key = block.key[1];
                keys[asked] = key;
                owners[asked] = place | 1 << ORDINAL_AT;
                asked += usize::from(block.keys == 2);
            } else {
                let all = &self.blocks.keys[block.key[0] as usize..][..usize::from(block.keys)];
                for (ordinal, one) in (0..).zip(all) {
                    keys[asked] = *one;
                    owners[asked] = place | ordinal << ORDINAL_AT;
                    asked += usize::from(*one != key);
                    key = *one;
                }
            }
        }
        (self.line, self.window, self.key) = (line, window, key);
        (room.entered, room.asked) = (entered, asked);
    }

    /// The places of lines, and what is brought.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn bring(&mut self, room: &mut Room) {
        room.rare.clear();
        let (lines, mode) = (&mut room.lines[..room.entered], self.pages.mode());
        let mut walks = &room.walks[..];
        let mut walk_at = walks.first().map_or(u32::MAX, |walk| walk.0);
        let (mut in_kernel, next_line) = (0, self.costs.next_line);
        for (place, line) in (0..).zip(lines) {
            let wanted = *line;
            in_kernel += u64::from(wanted >> mode);
            let (known, at) = self.l1i.access(wanted);
            *line = at;
            let (next_known, next_at) = match next_line {
                true => self.l1i.access(wanted + 1),
                false => (true, 0),
            };
            if known & next_known & (place != walk_at) {
                continue;
            }
            let walked = walks.first().filter(|walk| walk.0 == place);
            walks = &walks[usize::from(walked.is_some())..];
            walk_at = walks.first().map_or(u32::MAX, |walk| walk.0);
            room.rare.push(Rare {
                entered: place,
                line: wanted,
                walked: walked.map_or(0, |walk| walk.1),
                brought: if known { PRESENT } else { 0 },
                next: if next_known { PRESENT } else { 0 },
                next_place: next_at,
            });
        }
        for rare in &mut room.rare {
            let counters = &mut self.counters[(rare.line >> mode) as usize];
            if rare.brought != PRESENT {
                counters.l1i_misses += 1;
                let missed = &mut counters.l2i_misses;
                rare.brought = ask(&mut self.l2, &self.costs, rare.line, missed);
            }
            if rare.next != PRESENT {
                rare.next = ask(&mut self.l2, &self.costs, rare.line + 1, &mut 0);
            }
        }
        self.counters[0].l1i_accesses += room.entered as u64 - in_kernel;
        self.counters[1].l1i_accesses += in_kernel;
        // Blocks that enter fewer than two lines look at places behind.
        room.lines[room.entered..][..2].fill(0);
    }

    /// What blocks cost of which micro-ops have to be decoded.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn supply(&mut self, flow: &Flow, room: &mut Room) {
        let Some(op_cache) = &mut self.op_cache else {
            return;
        };
        let missed = &mut room.missed[..];
        let keys = room.keys[..room.asked].iter().copied();
        let (_, count) = op_cache.fold(keys, (0, 0), |(place, count): (u32, usize), _, known| {
            missed[count] = place;
            (place + 1, count + usize::from(!known))
        });
        let owner = |missed: &u32| room.owners[*missed as usize] & ((1 << ORDINAL_AT) - 1);
        let (blocks, runs, costs) = (&self.blocks.shapes, self.runs, &self.costs);
        let (steps, owners) = (&mut room.steps[..], &room.owners[..]);
        let mut supply = |place: u32, missed: &[u32], cached: bool| {
            let step = &mut steps[place as usize];
            let (_, stretches) = blocks.of(flow.entered[place as usize] as usize);
            let ordinals = missed.iter().map(|one| owners[*one as usize] >> ORDINAL_AT);
            supply_block(step, stretches, ordinals, (runs, cached), costs)
        };
        // Blocks of which nothing was missed end with what is cached; not those that go on in a line
        // that was decoded.
        let (mut behind, mut cached) = (0, self.cached);
        for missed in missed[..count].chunk_by(|one, other| owner(one) == owner(other)) {
            let place = owner(&missed[0]);
            while behind < place && !cached {
                cached = supply(behind, &[], false);
                behind += 1;
            }
            cached = supply(place, missed, cached | (behind < place));
            behind = place + 1;
        }
        let end = flow.entered.len() as u32;
        while behind < end && !cached {
            cached = supply(behind, &[], false);
            behind += 1;
        }
        self.cached = cached;
    }
}

/// What a block asks the micro-op cache for, where lines belong to runs; same: fetch goes on in its
/// first window. Returns the bits of [`Step::ops`] that say so, and how many lines it is.
#[inline(always)]
fn ask_by_run(
    runs: &mut Runs,
    (blocks, number, same): (&Placed, u32, bool),
    (keys, owners): (&mut [u32], &mut [u32]),
    place: u32,
) -> (u32, usize) {
    let (_, stretches) = blocks.shapes.of(number as usize);
    let (mut asked, mut goes_on, mut open) = (0, same, 0);
    for stretch in stretches {
        if runs.enter(goes_on) {
            open = u32::from(runs.open) << OPEN_AT;
        }
        goes_on = false;
        let begins = blocks.shapes.begins(stretch);
        for first in runs.lines(stretch.ops) {
            keys[asked] = blocks.key(number, stretch, begins[usize::from(first)]);
            owners[asked] = place | (asked as u32) << ORDINAL_AT;
            asked += 1;
        }
    }
    (open, asked)
}

/// Writes the ticks that a block's micro-ops take of which these lines were missed, by their places
/// among the block's. cached: whether those before came from the micro-op cache. Returns whether its
/// last ones do.
#[inline(always)]
fn supply_block(
    step: &mut Step,
    stretches: &[Stretch],
    missed: impl Iterator<Item = u32>,
    (mut runs, mut cached): (Option<Runs>, bool),
    costs: &Costs,
) -> bool {
    let mut missed = missed.peekable();
    let (mut ordinal, mut same, mut sum) = (0, step.ops & SAME != 0, 0);
    if let Some(runs) = &mut runs {
        runs.open = ((step.ops & OPEN) >> OPEN_AT) as u16;
    }
    for stretch in stretches {
        let mut hit = true;
        let lines = match &mut runs {
            None => stretch.lines().count(),
            Some(runs) => {
                hit = cached | !runs.enter(same);
                runs.lines(stretch.ops).count()
            }
        };
        for _ in 0..lines {
            hit &= missed.next_if_eq(&ordinal).is_none();
            ordinal += 1;
        }
        sum += match (hit, same) {
            (true, true) => 0,
            (true, false) => costs.window as u32,
            (false, _) => stretch.decode + u32::from(cached) * costs.to_decoders as u32,
        };
        (cached, same) = (hit, false);
    }
    step.supply = sum;
    cached
}

/// Asks L2 for a line: ticks until it is there.
#[inline(always)]
fn ask(l2: &mut SetAssociative<(), u32>, costs: &Costs, line: u32, missed: &mut u64) -> u32 {
    let near = l2.access(line);
    *missed += u64::from(!near);
    (if near { costs.l2 } else { costs.memory }) as u32
}
