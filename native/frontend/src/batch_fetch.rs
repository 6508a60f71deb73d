// SPDX-License-Identifier: GPL-2.0-or-later
//! What is fetched for the blocks of a piece: lines, pages, and micro-ops.

use std::cell::Cell;
use std::ops::Range;

use kernsmith_arch::{Page, PageMap};

use super::ahead::fetch_ahead;
use super::batch::{Batch, COUNT_AT, LED, NEXT, PRESENT, Rare, Room, SAME, Step};
use super::costs::Costs;
use super::flow::{Flow, REDIRECTED};
use super::placed::{Numbering, Placed};
use super::{Counters, CpuModel, InstructionTlbs, SetAssociative};

/// So many blocks before it is looked at, the host is asked for what is known of a block.
const AHEAD: usize = 16;

/// In [`Room::keys`]: where the block begins, and where the place in it does.
const OWNER_AT: u32 = 32;
const ORDINAL_AT: u32 = 48;

/// TLBs, and the page that was translated last.
pub(super) struct Pages {
    tlbs: InstructionTlbs,
    numbering: Numbering,
    /// Its lines, the first and the last.
    lines: (u32, u32),
    /// Of blocks that were translated and are in one page: which one.
    known: Vec<Option<Page>>,
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
            known: Vec::new(),
        }
    }

    pub fn map(&mut self, pages: PageMap) {
        self.tlbs.map(pages);
        self.lines = (u32::MAX, 0);
        self.known.clear();
    }

    /// What of it knows nothing of where lines are.
    pub fn into_tlbs(self) -> InstructionTlbs {
        self.tlbs
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
        let kernel = blocks.fetched[number as usize].line >> self.mode() == 1;
        let counters = &mut counters[usize::from(kernel)];
        let known = self.known.get(number as usize).copied().flatten();
        // The first line that is entered in a page translates it.
        let lines = match known {
            Some(_) => entered.start..entered.end.min(entered.start + 1),
            None => entered,
        };
        for line in lines {
            let before = (counters.itlb_misses, counters.stlb_misses);
            match known {
                Some(page) => self.tlbs.fetch_in(page, counters),
                None => self.fetch(blocks, number, counters),
            }
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

    fn fetch(&mut self, blocks: &Placed, number: u32, counters: &mut Counters) {
        let (start, last) = blocks.span(number);
        self.tlbs.fetch(start, last, counters);
        let page = self.tlbs.page(start);
        if last <= page.last {
            if self.known.len() <= number as usize {
                self.known.resize(blocks.starts.len(), None);
            }
            self.known[number as usize] = Some(page);
        }
    }
}

impl Batch {
    /// Which lines are entered, where their pages are, and what the micro-op cache is asked for.
    /// OPS: whether there is such a cache. NEXT_LINE: whether lines are asked for with the one
    /// before.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn fetch<const OPS: bool, const NEXT_LINE: bool>(
        &mut self,
        flow: &Flow,
        room: &mut Room,
    ) {
        room.steps.resize(flow.entered.len(), Step::default());
        room.walks.clear();
        let (lines, keys) = (&mut room.lines[..], &mut room.keys[..]);
        let (blocks, mode) = (&self.blocks.fetched[..], self.pages.mode());
        let (mut fetched, mut asked) = (0, 0);
        let (mut line, mut window, mut key) = (self.line, self.window, self.key);
        // The line that was asked for last because it is the next one: once more, which changes
        // nothing, so that it stands in front of those of this piece.
        let mut next = line;
        if NEXT_LINE && line != u32::MAX {
            next += 1;
            lines[0] = next | NEXT;
            fetched = 1;
        }
        let mut entered = [0; 2];
        let steps = room.steps.iter_mut().zip(&room.led).zip(&flow.entered);
        for (place, ((step, led), number)) in (0_u32..).zip(steps) {
            if let Some(soon) = flow.entered.get(place as usize + AHEAD) {
                fetch_ahead(blocks, *soon as usize);
            }
            let block = &blocks[*number as usize];
            // Written in any case, and kept when it is another line than the one before.
            let (first, more) = (block.line, usize::from(block.more_lines));
            let is_new = first != line;
            let count = usize::from(is_new) + more;
            line = first + more as u32;
            if NEXT_LINE {
                let begun = fetched + usize::from(is_new & (first != next));
                lines[fetched] = first;
                lines[begun] = (first + 1) | NEXT;
                fetched = begun + usize::from(is_new);
            } else {
                lines[fetched] = first;
                fetched += usize::from(is_new);
            }
            if more > 0 {
                let ahead = u32::from(NEXT_LINE);
                let others = &mut lines[fetched..fetched + more];
                for (other, place) in (first + 1 + ahead..).zip(others) {
                    *place = other | ahead * NEXT;
                }
                fetched += more;
            }
            next = line + 1;
            let end = fetched - usize::from(NEXT_LINE);
            if first < self.pages.lines.0 || line > self.pages.lines.1 {
                let told = (&mut self.counters, &self.costs);
                self.pages.translate(
                    (&self.blocks, *number),
                    end - count..end,
                    told,
                    &mut room.walks,
                );
            }
            let kernel = first >> mode;
            entered[0] += count as u64;
            entered[1] += count as u64 & u64::from(kernel).wrapping_neg();
            let same = block.first_window == window && led & REDIRECTED == 0;
            window = block.last_window;
            *step = Step {
                led: *led,
                lines: end as u32
                    | (count as u32) << COUNT_AT
                    | (led & if is_new { LED } else { 0 }),
                supply: block.supply[usize::from(same)],
                ops: u32::from(block.ops) | kernel << 31 | if same { SAME } else { 0 },
            };
            if !OPS {
                continue;
            }
            let owner = u64::from(place) << OWNER_AT;
            if block.keys <= 2 {
                let [one, other] = block.key;
                keys[asked] = u64::from(one) | owner;
                asked += usize::from(one != key);
                keys[asked] = u64::from(other) | owner | 1 << ORDINAL_AT;
                asked += usize::from(block.keys == 2);
                key = other;
            } else {
                let all = &self.blocks.keys[block.key[0] as usize..][..usize::from(block.keys)];
                for (ordinal, one) in (0..).zip(all) {
                    keys[asked] = u64::from(*one) | owner | ordinal << ORDINAL_AT;
                    asked += usize::from(*one != key);
                    key = *one;
                }
            }
        }
        (self.line, self.window, self.key) = (line, window, key);
        (room.fetched, room.asked) = (fetched, asked);
        self.counters[0].l1i_accesses += entered[0] - entered[1];
        self.counters[1].l1i_accesses += entered[1];
    }

    /// The places of lines, and what is brought.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn bring(&mut self, room: &mut Room) {
        let missed = &mut room.missed[..];
        let mut count = 0;
        for (place, line) in (0..).zip(&mut room.lines[..room.fetched]) {
            let wanted = *line;
            let (known, at) = self.l1i.access(wanted & !NEXT);
            *line = at;
            missed[count] = (place, wanted);
            count += usize::from(!known);
        }
        room.rare.clear();
        let mut walks = room.walks.iter().peekable();
        for &(place, wanted) in &missed[..count] {
            // A line that was not there is waited for; one that is next to another, later.
            let entered = place - (wanted >> 31);
            while let Some((line, ticks)) = walks.next_if(|walk| walk.0 <= entered) {
                tell(&mut room.rare, *line).walked = *ticks;
            }
            let line = wanted & !NEXT;
            let counters = &mut self.counters[(line >> self.pages.mode()) as usize];
            let rare = tell(&mut room.rare, entered);
            if entered == place {
                counters.l1i_misses += 1;
                let missed = &mut counters.l2i_misses;
                rare.brought = ask(&mut self.l2, &self.costs, line, missed);
            } else {
                rare.next = ask(&mut self.l2, &self.costs, line, &mut 0);
                rare.next_place = room.lines[place as usize];
            }
        }
        for (line, ticks) in walks {
            tell(&mut room.rare, *line).walked = *ticks;
        }
        // Blocks that enter fewer than two lines look at places behind.
        room.lines[room.fetched..][..2].fill(0);
    }

    /// What blocks cost of which micro-ops have to be decoded.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn supply(&mut self, flow: &Flow, room: &mut Room) {
        let Some(op_cache) = &mut self.op_cache else {
            return;
        };
        // Those that were missed come to the front.
        let asked = Cell::from_mut(&mut room.keys[..room.asked]).as_slice_of_cells();
        let keys = asked.iter().map(|key| key.get() as u32);
        let (_, count) = op_cache.fold(keys, (0, 0), |(place, count): (usize, usize), _, known| {
            asked[count].set(asked[place].get());
            (place + 1, count + usize::from(!known))
        });
        let missed = &room.keys[..count];
        let owner = |missed: &u64| (*missed >> OWNER_AT) as u16;
        // Blocks of which nothing was missed end with what is cached.
        let (mut behind, mut cached) = (0, self.cached);
        for missed in missed.chunk_by(|one, other| owner(one) == owner(other)) {
            let place = u32::from(owner(&missed[0]));
            let step = &mut room.steps[place as usize];
            let (_, stretches) = self.blocks.shapes.of(flow.entered[place as usize] as usize);
            let ordinals = missed.iter().map(|one| one >> ORDINAL_AT);
            let mut ordinals = ordinals.peekable();
            let (mut ordinal, mut same, mut sum) = (0, step.ops & SAME != 0, 0);
            cached |= place != behind;
            for stretch in stretches {
                let mut hit = true;
                for _ in stretch.lines() {
                    hit &= ordinals.next_if_eq(&ordinal).is_none();
                    ordinal += 1;
                }
                sum += match (hit, same) {
                    (true, true) => 0,
                    (true, false) => self.costs.window as u32,
                    (false, _) => {
                        stretch.decode + u32::from(cached) * self.costs.to_decoders as u32
                    }
                };
                (cached, same) = (hit, false);
            }
            step.supply = sum;
            behind = place + 1;
        }
        self.cached = cached | (behind != flow.entered.len() as u32);
    }
}

/// What there is to say of the line with this place, which none of those told so far lies behind.
#[inline(always)]
fn tell(rare: &mut Vec<Rare>, entered: u32) -> &mut Rare {
    if rare.last().is_none_or(|last| last.entered != entered) {
        rare.push(Rare {
            entered,
            walked: 0,
            brought: PRESENT,
            next: PRESENT,
            next_place: 0,
        });
    }
    let last = rare.len() - 1;
    &mut rare[last]
}

/// Asks L2 for a line: ticks until it is there.
#[inline(always)]
fn ask(l2: &mut SetAssociative<(), u32>, costs: &Costs, line: u32, missed: &mut u64) -> u32 {
    let near = l2.access(line);
    *missed += u64::from(!near);
    (if near { costs.l2 } else { costs.memory }) as u32
}
