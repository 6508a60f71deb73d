// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's text as the linker lays it out.

use super::random::SplitMix;

/// In a displaced layout, one of so many sections has a gap behind it.
const GAP_BEHIND: usize = 32;

/// The gap has at most so many lines.
const LONGEST_GAP: usize = 4;

/// What is put between steps begins at a multiple of this: `.p2align 4`, as the linker is given it.
const SHIFT_ALIGN: u64 = 16;

/// The number of a step, and how many bytes are put in front of it.
pub type Shift = (u32, u64);

/// One input section of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Address in the layout that the traces were taken in.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// A power of two.
    pub align: u64,
}

/// What the linker script says about the text, one thing after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The next address is a multiple of this power of two.
    Align(u64),
    /// Sections (by number) that one pattern of the script takes in: an order sorts them among
    /// themselves.
    Group(Vec<u32>),
}

/// All sections and how they follow each other.
#[derive(Debug, Clone)]
pub struct Text {
    start: u64,
    sections: Vec<Section>,
    steps: Vec<Step>,
    /// Numbers of the sections by address.
    by_address: Vec<u32>,
}

impl Text {
    /// Text that begins at `start`.
    ///
    /// # Errors
    ///
    /// One sentence when a section is in no group, in several, overlaps another, or is aligned
    /// impossibly.
    pub fn new(start: u64, sections: Vec<Section>, steps: Vec<Step>) -> Result<Self, String> {
        let mut seen = vec![false; sections.len()];
        for step in &steps {
            match step {
                Step::Align(align) if !align.is_power_of_two() => {
                    return Err(format!("an alignment of {align} bytes is impossible"));
                }
                Step::Align(_) => {}
                Step::Group(numbers) => {
                    for number in numbers {
                        let seen = seen
                            .get_mut(*number as usize)
                            .ok_or_else(|| format!("there is no section {number}"))?;
                        if std::mem::replace(seen, true) {
                            return Err(format!("section {number} is in two groups"));
                        }
                    }
                }
            }
        }
        if let Some(lost) = seen.iter().position(|seen| !seen) {
            return Err(format!("section {lost} is in no group"));
        }
        if let Some(section) = sections.iter().find(|one| !one.align.is_power_of_two()) {
            return Err(format!(
                "an alignment of {} bytes is impossible",
                section.align
            ));
        }
        let mut by_address: Vec<u32> = (0..sections.len() as u32).collect();
        by_address.sort_by_key(|number| {
            let section = &sections[*number as usize];
            (section.start, section.size)
        });
        for pair in by_address.windows(2) {
            let [one, next] = [pair[0], pair[1]].map(|number| sections[number as usize]);
            if one.start + one.size > next.start {
                return Err(format!(
                    "sections at {:#x} and {:#x} overlap",
                    one.start, next.start
                ));
            }
        }
        Ok(Self {
            start,
            sections,
            steps,
            by_address,
        })
    }

    /// All sections, by number.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Address of the first byte.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The linker script, in its order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The groups of the linker script.
    pub fn groups(&self) -> impl Iterator<Item = &Vec<u32>> {
        self.steps.iter().filter_map(|step| match step {
            Step::Align(_) => None,
            Step::Group(group) => Some(group),
        })
    }

    /// The address behind the text when the sections begin at these addresses.
    #[must_use]
    pub fn end_of(&self, starts: &[u64]) -> u64 {
        let ends = self.sections.iter().zip(starts);
        let last = ends.map(|(section, start)| start + section.size).max();
        let is_align = |step: &&Step| matches!(step, Step::Align(_));
        let behind = self.steps.iter().rev().take_while(is_align);
        behind.fold(last.unwrap_or(self.start), |dot, step| match step {
            Step::Align(align) => dot.next_multiple_of(*align),
            Step::Group(_) => dot,
        })
    }

    /// The section that an address of the traced layout is in.
    #[must_use]
    pub fn section_of(&self, address: u64) -> Option<usize> {
        let after = self
            .by_address
            .partition_point(|number| self.sections[*number as usize].start <= address);
        let number = *self.by_address.get(after.checked_sub(1)?)? as usize;
        let section = &self.sections[number];
        (address < section.start + section.size).then_some(number)
    }

    /// The address of each section when those in `order` come first in their group, in this
    /// order, as `ld.lld --symbol-ordering-file` has it; the others keep their order behind them.
    /// A section that `order` names again stays where it was named first.
    #[must_use]
    pub fn place(&self, order: &[u32]) -> Vec<u64> {
        self.place_shifted(order, &[])
    }

    /// The same, with something in front of some steps that pushes them back, and all that follows
    /// them.
    #[must_use]
    pub fn place_shifted(&self, order: &[u32], shifts: &[Shift]) -> Vec<u64> {
        self.place_with_gaps(order, shifts, &mut || 0)
    }

    /// The same, with up to four empty lines behind one of 32 sections on average, chosen by
    /// `seed`: neighbours stay neighbours and begin where they did in a line, but what is farther
    /// apart meets in other sets of the caches.
    #[must_use]
    pub fn displaced(&self, order: &[u32], line_bytes: u64, seed: u64) -> Vec<u64> {
        let mut random = SplitMix::new(seed);
        self.place_with_gaps(order, &[], &mut || match random.below(GAP_BEHIND) {
            0 => (1 + random.below(LONGEST_GAP) as u64) * line_bytes,
            _ => 0,
        })
    }

    fn place_with_gaps(
        &self,
        order: &[u32],
        shifts: &[Shift],
        gap: &mut dyn FnMut() -> u64,
    ) -> Vec<u64> {
        let mut rank = vec![u32::MAX; self.sections.len()];
        for (place, number) in order.iter().enumerate() {
            if let Some(rank) = rank.get_mut(*number as usize) {
                *rank = (*rank).min(place as u32);
            }
        }
        let mut starts = vec![0; self.sections.len()];
        let mut dot = self.start;
        let mut sorted = Vec::new();
        for (place, step) in (0..).zip(&self.steps) {
            for (_, bytes) in shifts.iter().filter(|shift| shift.0 == place) {
                dot = dot.next_multiple_of(SHIFT_ALIGN) + bytes;
            }
            match step {
                Step::Align(align) => dot = dot.next_multiple_of(*align),
                Step::Group(numbers) => {
                    sorted.clone_from(numbers);
                    sorted.sort_by_key(|number| rank[*number as usize]);
                    for number in &sorted {
                        let section = &self.sections[*number as usize];
                        dot = dot.next_multiple_of(section.align);
                        starts[*number as usize] = dot;
                        dot += section.size + gap();
                    }
                }
            }
        }
        starts
    }
}
