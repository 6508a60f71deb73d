// SPDX-License-Identifier: GPL-2.0-or-later
//! Stretches of code that are fetched in one go, in every layout.

use std::collections::HashMap;
use std::ops::Range;

use kernsmith_trace::Block;

/// No block has this number.
pub const NO_BLOCK: u32 = u32::MAX;

/// Stretches of code that stay in one piece in every layout and touch no more than two lines:
/// blocks, cut where they are too long, and blocks that follow each other joined.
#[derive(Debug)]
pub struct Pieces {
    /// (block, offset in it, bytes); the first ones are those of all blocks, by number.
    pub all: Vec<(u32, u16, u16)>,
    /// By block: its further pieces.
    pub more: Vec<Range<u32>>,
    /// By piece: a block that begins where it ends, and the piece that both are.
    pub joined: Vec<(u32, u32)>,
}

impl Pieces {
    /// For lines of `line_bytes`. `sections`: by block, what it moves with.
    ///
    /// Where several blocks begin at one address, the first one is joined to those before it.
    #[must_use]
    pub fn new(blocks: &[Block], sections: &[u32], line_bytes: usize) -> Self {
        // A stretch of n bytes touches at most (n - 1) / line_bytes + 2 lines, rounded down.
        let most = u16::try_from(line_bytes).unwrap_or(u16::MAX);
        let first = |(number, block): (usize, &Block)| (number as u32, 0, block.bytes.min(most));
        let mut all: Vec<_> = blocks.iter().enumerate().map(first).collect();
        let mut more = Vec::with_capacity(blocks.len());
        for (number, block) in blocks.iter().enumerate() {
            let begin = all.len() as u32;
            let mut offset = block.bytes.min(most);
            while offset < block.bytes {
                let bytes = (block.bytes - offset).min(most);
                all.push((number as u32, offset, bytes));
                offset += bytes;
            }
            more.push(begin..all.len() as u32);
        }
        let mut starts = HashMap::new();
        for (number, block) in blocks.iter().enumerate() {
            starts.entry(block.start).or_insert(number);
        }
        let mut joined = Vec::new();
        while let Some((block, offset, bytes)) = all.get(joined.len()).copied() {
            let end = blocks[block as usize].start + u64::from(offset) + u64::from(bytes);
            let next = starts.get(&end).copied().filter(|next| {
                sections[*next] == sections[block as usize]
                    && blocks[*next].bytes <= most.saturating_sub(bytes)
            });
            joined.push(next.map_or((NO_BLOCK, 0), |next| (next as u32, all.len() as u32)));
            if let Some(next) = next {
                all.push((block, offset, bytes + blocks[next].bytes));
            }
        }
        Self { all, more, joined }
    }
}
