// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes maps of basic blocks as compilers do, in any version.
#![allow(dead_code)]

#[path = "../../../frontend/tests/random/mod.rs"]
pub mod random;

use kernsmith_profile::propeller::address_map::{Block, Form, MappedFunction, Range};
use random::Random;

pub const FORM: Form = Form {
    little_endian: true,
    address_bytes: 8,
};
const BASE: u64 = 0xffff_ffff_8100_0000;

fn number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn metadata(block: &Block) -> u64 {
    u64::from(block.has_return())
        | u64::from(block.has_tail_call()) << 1
        | u64::from(block.is_landing_pad()) << 2
        | u64::from(block.can_fall_through()) << 3
        | u64::from(block.has_indirect_branch()) << 4
}

/// The record of a function with some features; what they add besides blocks is made up.
pub fn encode(function: &MappedFunction, version: u8, features: u16) -> Vec<u8> {
    let has = |bit: u16| features & 1 << bit != 0;
    let mut to = vec![version, features as u8];
    if version >= 5 {
        to.push((features >> 8) as u8);
    }
    if has(3) {
        number(&mut to, function.ranges.len() as u64);
    }
    for range in &function.ranges {
        to.extend(range.start.to_le_bytes());
        number(&mut to, range.blocks.len() as u64);
        let mut end = range.start;
        for block in range.blocks.iter().filter(|_| !has(4)) {
            number(&mut to, u64::from(block.id));
            number(&mut to, block.start - end);
            let before = if has(5) { block.size / 2 } else { 0 };
            if has(5) {
                // Two calls, of which the second ends in the middle of the block.
                to.push(2);
                number(&mut to, u64::from(before / 2));
                number(&mut to, u64::from(before - before / 2));
            }
            number(&mut to, u64::from(block.size - before));
            number(&mut to, metadata(block));
            if has(6) {
                to.extend([0xab; 8]);
            }
            end = block.end();
        }
    }
    if has(0) {
        number(&mut to, 1_000_000);
    }
    let blocks = function.ranges.iter().flat_map(|range| &range.blocks);
    for _ in blocks.filter(|_| !has(4) && (has(1) || has(2))) {
        to.extend(has(1).then_some(7));
        to.extend(has(7).then_some(8));
        if has(2) {
            to.extend(
                [2, 1, 100, 2, 101]
                    .into_iter()
                    .take(if has(7) { 0 } else { 5 }),
            );
            to.extend([1, 3, 100, 9].into_iter().take(if has(7) { 4 } else { 0 }));
        }
    }
    to
}

/// A made-up function of so many ranges.
pub fn function(random: &mut Random, ranges: u64) -> MappedFunction {
    let mut id = 0;
    let mut start = BASE + random.below(1 << 20) * 16;
    let mut made = MappedFunction::default();
    for _ in 0..ranges {
        let mut blocks = Vec::new();
        let mut at = start;
        for _ in 0..1 + random.below(6) {
            let size = random.below(300) as u32;
            at += random.pick(&[0, 0, 0, 7]);
            blocks.push(Block::new(id, at, size, random.below(32) as u8));
            at += u64::from(size);
            id += 1 + random.below(200) as u32;
        }
        made.ranges.push(Range { start, blocks });
        start = at + random.below(1 << 16);
    }
    made
}
