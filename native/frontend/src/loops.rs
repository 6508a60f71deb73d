// SPDX-License-Identifier: GPL-2.0-or-later
//! Branches that go the same way a constant number of times, then once the other way: loops.
//!
//! A. Seznec, The L-TAGE Branch Predictor, 2007: an entry has the number of iterations of the last
//! time round, how many there were since, how often that number was confirmed, and an age that keeps
//! it. Whether such entries are believed, where TAGE says otherwise, one counter for all of them
//! tells. A processor counts iterations when it predicts them, and again when they retire, to mend
//! the former; that is left out: here a branch is resolved before the next one is predicted.

use super::LoopGeometry;

/// More iterations are not counted.
const LONGEST: u16 = (1 << 14) - 1;

/// Fewer of them are for TAGE.
const SHORTEST: u16 = 3;

/// How often a number of iterations is confirmed before it is believed.
const CONFIDENT: u8 = 3;

/// Of a new entry: so often it is kept when there is no room.
const YOUNG: u8 = u8::MAX;

/// A loop's branch.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// 0 is nobody's.
    tag: u16,
    /// Iterations of the last time round, the one that leaves among them; 0: unknown.
    past: u16,
    /// Iterations since.
    current: u16,
    confidence: u8,
    age: u8,
    /// The direction that goes on.
    on: bool,
}

impl Entry {
    fn new(tag: u16, leaving: bool) -> Self {
        Self {
            tag,
            age: YOUNG,
            on: !leaving,
            ..Self::default()
        }
    }

    /// The direction, where it is known.
    fn guess(&self) -> Option<bool> {
        let leaves = self.current + 1 == self.past;
        (self.confidence == CONFIDENT).then_some(self.on != leaves)
    }

    fn learn(&mut self, taken: bool) {
        self.current = (self.current + 1).min(LONGEST);
        if taken == self.on {
            if self.current >= self.past && self.past > 0 {
                self.is_irregular(0);
            }
            return;
        }
        match self.current {
            // The other direction is the one that goes on.
            ..SHORTEST => {
                self.is_irregular(0);
                self.on = taken;
            }
            current if current == self.past => {
                self.confidence = (self.confidence + 1).min(CONFIDENT);
            }
            LONGEST => self.is_irregular(0),
            current if self.past == 0 => self.past = current,
            current => self.is_irregular(current),
        }
        self.current = 0;
    }

    /// It had another number of iterations than before.
    fn is_irregular(&mut self, iterations: u16) {
        self.past = iterations;
        self.confidence = 0;
        self.age = 0;
    }
}

/// The table.
#[derive(Debug, Clone)]
pub struct Loops {
    entries: Vec<Entry>,
    ways: usize,
    /// Whether what it knows is believed: from 0 on.
    trust: i8,
}

impl Loops {
    /// Knows no loop.
    #[must_use]
    pub fn new(geometry: &LoopGeometry) -> Self {
        Self {
            entries: vec![Entry::default(); geometry.entries],
            ways: geometry.ways,
            trust: -1,
        }
    }

    /// A conditional branch of which TAGE has said `other`. Returns whether its direction was
    /// predicted, and learns it.
    pub fn predict(&mut self, pc: u64, other: bool, taken: bool) -> bool {
        // What replays layouts knows no more of an address.
        let pc = pc as u32;
        let sets = self.entries.len() / self.ways;
        let first = (pc >> 1 ^ pc >> 6) as usize % sets * self.ways;
        let tag = (pc ^ pc >> 14 ^ pc >> 28) as u16 & 0x3fff | 0x4000;
        let set = &mut self.entries[first..first + self.ways];
        let Some(entry) = set.iter_mut().find(|entry| entry.tag == tag) else {
            if other != taken {
                allocate(set, tag, taken);
            }
            return other == taken;
        };
        let own = entry.guess().unwrap_or(other);
        let guess = if self.trust >= 0 { own } else { other };
        if own != other {
            let step = if own == taken { 1 } else { -1 };
            self.trust = (self.trust + step).clamp(-64, 63);
            entry.age = entry.age.saturating_add(u8::from(own == taken));
        }
        entry.learn(taken);
        guess == taken
    }
}

/// Most mispredictions are of the iteration that leaves.
fn allocate(set: &mut [Entry], tag: u16, taken: bool) {
    for entry in set {
        if entry.age == 0 {
            *entry = Entry::new(tag, taken);
            return;
        }
        entry.age -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: LoopGeometry = LoopGeometry {
        entries: 8,
        ways: 4,
    };

    /// Mispredictions of a loop with so many iterations each time round, beside a predictor that
    /// always says that it goes on.
    fn mispredicted(loops: &mut Loops, pc: u64, rounds: &[u16]) -> u64 {
        let mut wrong = 0;
        for iterations in rounds {
            for iteration in 1..=*iterations {
                let taken = iteration < *iterations;
                wrong += u64::from(!loops.predict(pc, true, taken));
            }
        }
        wrong
    }

    #[test]
    fn a_constant_number_of_iterations_is_believed_when_it_was_confirmed() {
        let mut loops = Loops::new(&TABLE);
        // One makes an entry, one tells the number, three confirm it, one more makes trust.
        assert_eq!(mispredicted(&mut loops, 0x1000, &[700; 6]), 6);
        assert_eq!(mispredicted(&mut loops, 0x1000, &[700; 20]), 0);
        // With trust, another loop needs five.
        assert_eq!(mispredicted(&mut loops, 0x2000, &[3; 25]), 5);
    }

    #[test]
    fn another_number_is_learnt_anew() {
        let mut loops = Loops::new(&TABLE);
        mispredicted(&mut loops, 0x1000, &[40; 10]);
        // Where it was expected to end, where it did, and until that is confirmed.
        assert_eq!(mispredicted(&mut loops, 0x1000, &[50]), 2);
        assert_eq!(mispredicted(&mut loops, 0x1000, &[50; 10]), 3);
        assert_eq!(mispredicted(&mut loops, 0x1000, &[30; 10]), 4);
    }

    #[test]
    fn a_loop_that_goes_on_when_its_branch_is_not_taken_is_one_too() {
        let mut loops = Loops::new(&TABLE);
        let mut wrong = 0;
        for iteration in 0..1000 {
            let taken = iteration % 20 == 19;
            wrong = if iteration < 500 { 0 } else { wrong };
            wrong += u64::from(!loops.predict(0x1000, taken && iteration % 40 == 39, taken));
        }
        assert_eq!(wrong, 0);
    }

    #[test]
    fn one_iteration_or_two_are_no_loop() {
        let mut loops = Loops::new(&TABLE);
        assert_eq!(mispredicted(&mut loops, 0x1000, &[2; 100]), 100);
        assert_eq!(mispredicted(&mut loops, 0x1000, &[LONGEST + 1; 8]), 8);
    }

    #[test]
    fn what_helps_is_kept_and_what_does_not_makes_room() {
        let one_set = LoopGeometry {
            entries: 2,
            ways: 2,
        };
        let mut loops = Loops::new(&one_set);
        mispredicted(&mut loops, 0x1000, &[9; 20]);
        // Irregular ones come and go in the other place …
        for pc in 1..=100 {
            mispredicted(&mut loops, 0x2000 + 16 * pc, &[7, 5, 6, 8]);
        }
        assert_eq!(mispredicted(&mut loops, 0x1000, &[9; 20]), 0);
        // … and it goes, too, when it is not seen again for long.
        for pc in 1..=1000 {
            mispredicted(&mut loops, 0x2000 + 16 * pc, &[7, 5, 6, 8]);
        }
        assert!(mispredicted(&mut loops, 0x1000, &[9; 20]) > 0);
    }
}
