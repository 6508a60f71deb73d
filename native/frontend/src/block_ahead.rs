// SPDX-License-Identifier: GPL-2.0-or-later
//! Target buffers that are asked a block ahead.
//!
//! A buffer has an answer each cycle where the set is known before the block is: it is taken by the
//! block before, while the tag is of the block itself (A. Seznec, A. Fraboulet, *Effective Ahead
//! Pipelining of Instruction Block Address Generation*, ISCA 2003). A block is what is fetched of one
//! line, from where the flow entered it.
//!
//! Which bits choose the set, and which the tag, was found on a Zen 3 by loops of jumps, calls and
//! returns (docs/silicon.md): the tag is an entry's address folded to twelve bits, the set the line of
//! the block before, folded to nine. Behind a call and behind a return the set is of the entry, too.

use super::AheadGeometry;
use super::clocks::ticks;

/// log2 of the bytes that a block has at most.
const LINE: u32 = 6;
const SET_BITS: u32 = 9;
const TAG_BITS: u32 = 12;

/// A taken branch and where it led; the low 32 bits of each address.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Jumped {
    pub pc: u32,
    pub target: u32,
    /// Neither a call nor a return.
    pub is_jump: bool,
}

/// A block as buffers know it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entered {
    /// The set in its low bits, so that any power of two of them is one; the tag above.
    pub key: u32,
    /// Where the flow entered it.
    pub entry: u32,
}

impl Jumped {
    /// The block that a branch at `pc` ends, which this one was the last taken branch before.
    #[inline(always)]
    fn block(self, pc: u32) -> Entered {
        // Entered by the branch before, or from the line in front of it.
        let is_led = (pc ^ self.target) >> LINE == 0 && self.target <= pc;
        let line = pc >> LINE << LINE;
        let (entry, before, is_jump) = match is_led {
            true => (self.target, self.pc, self.is_jump),
            false => (line, line.wrapping_sub(1), true),
        };
        let set = match is_jump {
            true => behind_jump(before),
            false => behind_call(entry),
        };
        let tag = (entry ^ entry >> TAG_BITS ^ entry >> (2 * TAG_BITS)) & ((1 << TAG_BITS) - 1);
        Entered {
            key: set | tag << SET_BITS,
            entry,
        }
    }
}

/// The set of what is behind a jump, or behind a line, from this address; as all sets here, in its low
/// bits one of 256.
#[inline(always)]
fn behind_jump(from: u32) -> u32 {
    let line = from >> LINE;
    let low = (line ^ line >> 9) & 0x1f;
    let pairs = (line >> 5 ^ line >> 7) & 3;
    low | pairs << 5 | (line >> 8 & 1) << 7 | (line >> 7 & 1) << 8
}

/// The set of what a call or a return leads to.
#[inline(always)]
fn behind_call(entry: u32) -> u32 {
    let low = (entry ^ entry >> 6) >> 1 & 0x1f;
    let pairs = (entry >> 12 ^ entry >> 16) & 3;
    low | pairs << 5 | ((entry ^ entry >> 6) & 1) << 7 | ((entry ^ entry >> 13) & 1) << 8
}

/// Which block is asked for, and which blocks buffers have an answer for, of those that share a key. The
/// one that was put in when none was known is always found; another one when it was also the last that
/// was asked for.
#[derive(Debug, Clone)]
pub(super) struct BlockAhead {
    before: Jumped,
    /// Of as many keys as programs have; one that meets another here is forgotten.
    known: Vec<Owner>,
    /// In ticks.
    pub false_hit: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Owner {
    key: u32,
    first: u32,
    last: u32,
}

const OWNER_BITS: u32 = 14;

impl BlockAhead {
    pub fn new(geometry: &AheadGeometry) -> Self {
        Self {
            before: Jumped::default(),
            known: vec![Owner::default(); 1 << OWNER_BITS],
            false_hit: ticks(geometry.false_hit_cycles) as u32,
        }
    }

    /// The block that the next taken branch ends.
    #[inline(always)]
    pub fn end(&mut self, jumped: Jumped) -> Entered {
        let block = self.before.block(jumped.pc);
        self.before = jumped;
        block
    }

    /// Whether what a buffer says is of another block. known: whether one says anything.
    #[inline(always)]
    pub fn are_others(&mut self, block: Entered, known: bool) -> bool {
        let Entered { key, entry } = block;
        let place = key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - OWNER_BITS);
        let owner = &mut self.known[place as usize];
        if !known || owner.key != key {
            *owner = Owner {
                key,
                first: entry,
                last: entry,
            };
            return false;
        }
        let is_others = owner.first != entry && owner.last != entry;
        owner.last = entry;
        is_others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump(pc: u32, target: u32) -> Jumped {
        Jumped {
            pc,
            target,
            is_jump: true,
        }
    }

    #[test]
    fn the_set_is_of_the_line_before_and_the_tag_of_the_entry() {
        let one = jump(0x48_5584, 0x48_55a9).block(0x48_55b6);
        // Bits 7 and 16 of a line fall together, and so do 8 and 17: the pair that was found.
        let other = jump(0x4b_5417, 0x4b_5599).block(0x4b_55a7);
        assert_eq!(one.key, other.key);
        assert_ne!(one.entry, other.entry);
        for bit in 6..20 {
            let moved = jump(0x48_5584 ^ 1 << bit, 0x48_55a9).block(0x48_55b6);
            assert_ne!(one.key, moved.key, "{bit}");
        }
        assert_eq!(one.key, jump(0x58_5584, 0x48_55a9).block(0x48_55b6).key);
    }

    #[test]
    fn a_line_that_is_run_into_has_an_entry_of_its_own() {
        let led = jump(0x40_0000, 0x40_1030);
        assert_eq!(led.block(0x40_1038).entry, 0x40_1030);
        assert_eq!(led.block(0x40_1048).entry, 0x40_1040);
        assert_eq!(
            led.block(0x40_1048).key,
            jump(0x40_103f, 0x40_1040).block(0x40_1048).key
        );
    }

    #[test]
    fn each_set_is_as_likely_as_any_other() {
        let sets = |of: &dyn Fn(u32) -> u32, mask: u32| {
            let mut found = vec![0; 1 << SET_BITS];
            (0..1 << 18).for_each(|n| found[(of(n) & mask) as usize] += 1);
            found.retain(|times| *times > 0);
            found.dedup();
            found
        };
        let lines = |n: u32| behind_jump(n << LINE);
        for mask in [0x1ff, 0xff] {
            let each = vec![(1 << 18) / (mask + 1)];
            assert_eq!(sets(&lines, mask), each);
            assert_eq!(sets(&behind_call, mask), each);
        }
        // The nearest buffer has these two lines in one set.
        let [one, other] = [0x15, 0x15 ^ 0xa0].map(lines);
        assert_eq!(one & 0xff, other & 0xff);
        assert_ne!(one, other);
    }

    #[test]
    fn behind_a_call_only_these_addresses_share_a_set_and_a_tag() {
        let called = |entry| {
            let call = Jumped {
                pc: 0x40_1234,
                target: entry,
                is_jump: false,
            };
            call.block(entry).key
        };
        // Found among ten million pairs of a Zen 3's calls and returns.
        let alike = [
            0x10_4104, 0x20_8208, 0x30_c30c, 0xff_ffff, 0xef_befb, 0xcf_3cf3,
        ];
        for other in alike {
            assert_eq!(called(0x67_1c21), called(0x67_1c21 ^ other), "{other:x}");
        }
        let many = (1..1 << 24).filter(|other| called(0x67_1c21) == called(0x67_1c21 ^ other));
        assert_eq!(many.count(), 7);
    }

    #[test]
    fn who_was_put_in_first_is_always_found_and_another_one_again() {
        let geometry = AheadGeometry {
            false_hit_cycles: 1.0,
        };
        let mut ahead = BlockAhead::new(&geometry);
        let mut asked = |entry, known| ahead.are_others(Entered { key: 7, entry }, known);
        assert!(!asked(1, false));
        assert!(asked(2, true));
        assert!(!asked(2, true));
        assert!(!asked(1, true));
        assert!(asked(2, true));
        assert!(!asked(2, false));
        assert!(asked(1, true));
    }
}
