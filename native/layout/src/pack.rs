// SPDX-License-Identifier: GPL-2.0-or-later
//! A local search for the order whose functions take up the fewest lines and pages.

use super::footprint::Footprints;
use super::random::SplitMix;
use super::text::{Section, Step, Text};

/// Longest run of functions that a move takes.
const LONGEST_RUN: usize = 4;

/// Behind a move, so many functions may lie elsewhere because of another padding.
const FARTHEST: usize = 64;

/// Moves between two reports.
const TOLD_AFTER: usize = 50_000;

/// Sections that are moved among themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// In their order.
    pub sections: Vec<u32>,
    /// How many places a move goes at most.
    pub reach: usize,
    /// Moves to try for each section.
    pub tries: usize,
}

/// Changes the order within each zone as long as less is fetched, and returns all zones' sections:
/// those of the first zone first.
///
/// `progress` is called now and then with the number of moves tried so far; when it says `false`,
/// the order reached so far is returned.
pub fn pack(
    text: &Text,
    footprints: &Footprints,
    zones: &[Zone],
    seed: u64,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Vec<u32> {
    let mut zone_of = vec![usize::MAX; text.sections().len()];
    let mut place_of = vec![0; text.sections().len()];
    for (number, zone) in zones.iter().enumerate() {
        for (place, section) in zone.sections.iter().enumerate() {
            zone_of[*section as usize] = number;
            place_of[*section as usize] = place;
        }
    }
    let mut random = SplitMix::new(seed);
    let mut packed = vec![Vec::new(); zones.len()];
    let (mut tried, mut goes_on) = (0, true);
    let mut dot = text.start();
    for step in text.steps() {
        let group = match step {
            Step::Align(align) => {
                dot = dot.next_multiple_of(*align);
                continue;
            }
            Step::Group(group) => group,
        };
        let mut sequence = group.clone();
        sequence.sort_by_key(|section| (zone_of[*section as usize], place_of[*section as usize]));
        let mut row = Row::new(text.sections(), footprints, sequence, dot);
        let mut begin = 0;
        for (number, zone) in zones.iter().enumerate() {
            let members = group.iter().filter(|one| zone_of[**one as usize] == number);
            let end = begin + members.count();
            for _ in 0..(end - begin) * zone.tries {
                tried += 1;
                if tried % TOLD_AFTER == 0 && goes_on {
                    goes_on = progress(tried);
                }
                if !goes_on {
                    break;
                }
                row.try_move(&mut random, begin, end, zone.reach);
            }
            packed[number].extend(&row.sequence[begin..end]);
            begin = end;
        }
        dot = row.end();
    }
    packed.concat()
}

/// The sections of one group, one behind the other.
struct Row<'a> {
    sections: &'a [Section],
    footprints: &'a Footprints,
    sequence: Vec<u32>,
    /// Where the one before them ends.
    begin: u64,
    /// By place: where the section begins.
    starts: Vec<u64>,
    /// What a move makes of a part of the sequence.
    moved: Vec<u32>,
}

impl<'a> Row<'a> {
    fn new(
        sections: &'a [Section],
        footprints: &'a Footprints,
        sequence: Vec<u32>,
        dot: u64,
    ) -> Self {
        let mut row = Self {
            sections,
            footprints,
            begin: dot,
            starts: vec![dot; sequence.len()],
            sequence,
            moved: Vec::new(),
        };
        let mut dot = dot;
        for (place, start) in row.starts.iter_mut().enumerate() {
            let section = row.sections[row.sequence[place] as usize];
            *start = dot.next_multiple_of(section.align);
            dot = *start + section.size;
        }
        row
    }

    fn end(&self) -> u64 {
        self.end_of(self.starts.len())
    }

    /// Where the section before `place` ends.
    fn end_of(&self, place: usize) -> u64 {
        match place.checked_sub(1) {
            Some(last) => self.starts[last] + self.sections[self.sequence[last] as usize].size,
            None => self.begin,
        }
    }

    /// Moves some sections within `begin..end` when that is cheaper.
    fn try_move(&mut self, random: &mut SplitMix, begin: usize, end: usize, reach: usize) {
        let from = begin + random.below(end - begin);
        let farthest = 1 + random.below(reach);
        let distance = 1 + random.below(farthest);
        let to = if random.below(2) == 0 {
            from + distance
        } else {
            match from.checked_sub(distance) {
                Some(to) => to,
                None => return,
            }
        };
        if to < begin || to >= end {
            return;
        }
        let (low, high) = (from.min(to), from.max(to) + 1);
        self.moved.clear();
        self.moved.extend(&self.sequence[low..high]);
        let last = self.moved.len() - 1;
        if random.below(3) == 0 {
            self.moved.swap(0, last);
        } else {
            let run = 1 + random.below(LONGEST_RUN.min(last));
            if from < to {
                self.moved.rotate_left(run);
            } else {
                self.moved.rotate_right(run);
            }
        }
        self.keep_if_cheaper(low);
    }

    /// Puts `moved` at `low` if that is cheaper.
    fn keep_if_cheaper(&mut self, low: usize) {
        let high = low + self.moved.len();
        let Some((moved_starts, end)) = self.starts_if_moved(low) else {
            return;
        };
        let behind = low + moved_starts.len();
        let from = self.starts[low].min(moved_starts[0]);
        let to = self.end_of(behind).max(end);
        // What lies in the page around all that changes is the same; else its parts may be shared
        // with others from the beginning of the first page to the end of the last one.
        let page = self.footprints.page(from);
        let within = to - 1 <= page.last;
        let line = self.footprints.line_bytes();
        let (least, reached) = if within {
            (from / line * line, to.next_multiple_of(line))
        } else {
            (page.start, self.footprints.page(to - 1).last + 1)
        };
        let first = self.starts[..low].partition_point(|start| *start < least);
        let first = first.saturating_sub(1);
        let last = behind + self.starts[behind..].partition_point(|start| *start < reached);
        let placed = |range: std::ops::Range<usize>| {
            let sections = self.sequence[range.clone()].iter().copied();
            sections.zip(self.starts[range].iter().copied())
        };
        let between = self.sequence[high..behind].iter();
        let moved = self.moved.iter().chain(between).copied();
        let moved = moved.zip(moved_starts.iter().copied());
        let now = placed(first..low).chain(moved).chain(placed(behind..last));
        let before = placed(first..last);
        let is_cheaper = if within {
            self.footprints.line_cost(now) < self.footprints.line_cost(before)
        } else {
            self.footprints.cost(now) < self.footprints.cost(before)
        };
        if is_cheaper {
            self.sequence[low..high].copy_from_slice(&self.moved);
            self.starts[low..behind].copy_from_slice(&moved_starts);
        }
    }

    /// Where the sections from `low` on begin when `moved` is put there, up to those that lie where
    /// they lay before, and where the last of them ends; nothing when that is too far behind.
    fn starts_if_moved(&self, low: usize) -> Option<(Vec<u64>, u64)> {
        let high = low + self.moved.len();
        let mut starts = Vec::with_capacity(high - low + FARTHEST);
        let mut dot = self.end_of(low);
        let behind = self.sequence[high..].iter().take(FARTHEST);
        for section in self.moved.iter().chain(behind) {
            let section = self.sections[*section as usize];
            let start = dot.next_multiple_of(section.align);
            let place = low + starts.len();
            if place >= high && self.starts[place] == start {
                return Some((starts, dot));
            }
            starts.push(start);
            dot = start + section.size;
        }
        (low + starts.len() == self.sequence.len()).then_some((starts, dot))
    }
}
