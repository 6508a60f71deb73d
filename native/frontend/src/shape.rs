// SPDX-License-Identifier: GPL-2.0-or-later
//! How a block's micro-ops lie in the windows of the micro-op cache, or of the decoders: worked out
//! once for an address.
//!
//! The cache: Solomon, Mendelson, Orenstein, Almog, Ronen, *Micro-Operation Cache: A Power Aware
//! Frontend for Variable Instruction Length ISA* (ISLPED 2001); its lines and windows are the vendors'.

use kernsmith_arch::Operation;

use super::DecoupledGeometry;
use super::chains::{Chains, Latencies};
use super::clocks::{TICKS, ticks};

/// Bits of a window's number in the micro-op cache's keys: what tells its lines apart is above.
pub(super) const WINDOW_BITS: u32 = 48;

/// One window that a block runs through. Times in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The window's number: its address divided by its size.
    pub window: u64,
    /// Micro-ops of the block that begin in it.
    pub ops: u16,
    /// Lines of the micro-op cache that these fill, where they belong to windows.
    lines: u16,
    /// What decoding them takes: a cycle for each block of bytes that the decoders are given, and
    /// as many cycles as their width asks for.
    pub decode: u32,
    /// Where it is told of its micro-ops where they begin: see [`Shapes::begins`].
    first: u32,
}

impl Stretch {
    /// What the micro-op cache knows its lines by.
    #[inline(always)]
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        let window = self.window & ((1 << WINDOW_BITS) - 1);
        (0..u64::from(self.lines)).map(move |line| window | (line << WINDOW_BITS))
    }
}

/// Blocks by number; see [`Shapes::add`].
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    blocks: Vec<Shape>,
    stretches: Vec<Stretch>,
    /// By micro-op, of all stretches: where in its window it begins, in units of two bytes, of which
    /// hardly ever two begin in one.
    begins: Vec<u8>,
    chains: Chains,
}

/// Where a block's stretches are, and the sum of their micro-ops.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    first: u32,
    count: u16,
    ops: u16,
    known: bool,
}

impl Shapes {
    /// Whether the block of this number was added.
    #[inline(always)]
    #[must_use]
    pub fn knows(&self, number: usize) -> bool {
        self.blocks.get(number).is_some_and(|shape| shape.known)
    }

    /// The block of this number begins at `start` and has instructions of these sizes; fused: its
    /// last two are one micro-op. All others are one each: the front end's own figure would need
    /// every opcode's, and most are one. operations: what these wait for, asked for where the core has a
    /// window. Without a micro-op cache, windows are what the decoders are
    /// given in a cycle.
    pub fn add(
        &mut self,
        number: usize,
        start: u64,
        sizes: impl Iterator<Item = u8>,
        fused: bool,
        operations: impl FnOnce() -> Vec<Operation>,
        geometry: &DecoupledGeometry,
    ) {
        let (fetch, op_cache) = (&geometry.fetch, geometry.op_cache.as_ref());
        if geometry.core.window.is_some() {
            let core = Latencies {
                load: geometry.core.load_cycles,
                width: geometry.core.width,
            };
            self.chains.add(number, &operations(), core);
        }
        let first = self.stretches.len();
        let bytes = (
            op_cache.map_or(fetch.decode_bytes, |cache| cache.window_bytes) as u64,
            fetch.decode_bytes as u64,
        );
        let mut ops = self.cut(start, sizes, bytes);
        let stretches = &mut self.stretches[first..];
        // The branch may begin in a window of its own: then nothing is fused.
        if let Some(last) = stretches.last_mut().filter(|last| fused && last.ops > 1) {
            last.ops -= 1;
            ops -= 1;
        }
        for stretch in stretches {
            let by_ops = ticks(f64::from(stretch.ops) / fetch.decode_width);
            stretch.decode = stretch.decode.max(by_ops as u32);
            let line_ops = op_cache.map_or(u16::MAX, |cache| cache.ops as u16);
            stretch.lines = stretch.ops.div_ceil(line_ops).max(1);
        }
        if self.blocks.len() <= number {
            self.blocks.resize(number + 1, Shape::default());
        }
        self.blocks[number] = Shape {
            first: first as u32,
            count: (self.stretches.len() - first) as u16,
            ops,
            known: true,
        };
    }

    /// Adds a block's stretches, with a cycle of decoding for each of its blocks of bytes. Returns
    /// its micro-ops. window, decode: bytes of a window, and of what decoders are given in a cycle.
    fn cut(
        &mut self,
        start: u64,
        sizes: impl Iterator<Item = u8>,
        (window, decode): (u64, u64),
    ) -> u16 {
        let first = self.stretches.len();
        let (mut address, mut decoded, mut ops) = (start, u64::MAX, 0);
        for size in sizes {
            let entered = address / window;
            let known = self.stretches[first..].last();
            if known.is_none_or(|last| last.window != entered) {
                self.stretches.push(Stretch {
                    window: entered,
                    ops: 0,
                    lines: 0,
                    decode: 0,
                    first: self.begins.len() as u32,
                });
            }
            let last = self.stretches.len() - 1;
            let stretch = &mut self.stretches[last];
            stretch.ops += 1;
            self.begins.push((address % window / 2) as u8);
            ops += 1;
            let bytes = address / decode;
            stretch.decode += u32::from(bytes != decoded) * TICKS as u32;
            decoded = bytes;
            address += u64::from(size);
        }
        ops
    }

    /// What the blocks' instructions wait for each other for; of a core without a window, nothing.
    #[inline(always)]
    #[must_use]
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// By micro-op of a stretch, where it begins in its window.
    #[inline(always)]
    #[must_use]
    pub fn begins(&self, stretch: &Stretch) -> &[u8] {
        &self.begins[stretch.first as usize..][..usize::from(stretch.ops)]
    }

    /// The micro-ops of a block, and its stretches in their order.
    #[inline(always)]
    #[must_use]
    pub fn of(&self, number: usize) -> (u32, &[Stretch]) {
        let shape = self.blocks[number];
        let first = shape.first as usize;
        (
            u32::from(shape.ops),
            &self.stretches[first..first + usize::from(shape.count)],
        )
    }
}
