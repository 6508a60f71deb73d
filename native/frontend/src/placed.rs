// SPDX-License-Identifier: GPL-2.0-or-later
//! What a front end in time has to know of each block in one layout, worked out once.

use kernsmith_arch::Operation;

use super::branch_key::drawn;
use super::costs::Costs;
use super::{CpuModel, DecoupledGeometry, Shapes, Stretch};

/// Addresses in 32 bits: which line, window or branch it is of all that are executed. What a number
/// says above the low bits of its address is the mode.
#[derive(Debug, Clone, Copy)]
pub struct Numbering {
    /// log2 of the bytes that have one number.
    pub shift: u32,
}

impl Numbering {
    /// Of a line, or of a window.
    #[inline(always)]
    pub fn of(self, address: u64, kernel: bool) -> u32 {
        (address as u32) >> self.shift | u32::from(kernel) << self.mode()
    }

    /// The bit that says the mode.
    #[inline(always)]
    pub fn mode(self) -> u32 {
        u32::BITS - self.shift
    }
}

/// Where a block is fetched from, in half a cache line.
#[derive(Debug, Clone, Copy)]
pub struct Fetched {
    /// Its first line, and how many more it reaches into.
    pub line: u32,
    pub more_lines: u8,
    /// Lines of the micro-op cache; without such a cache, none.
    pub keys: u8,
    pub ops: u16,
    /// The first and the last of its windows.
    pub first_window: u32,
    pub last_window: u32,
    /// The first and the last of up to two keys; of more, where they begin in [`Placed::keys`].
    pub key: [u32; 2],
    /// Ticks that its micro-ops take when all are in their cache, or there is none: where fetch
    /// begins anew in a window, and where it goes on in one.
    pub supply: [u32; 2],
}

/// Where a block begins and ends, in the low 32 bits of addresses, and by what predictors know these
/// places: by the same bits, or by names.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub start: u32,
    /// Of the last instruction.
    pub pc: u32,
    /// By which the target buffers know the last instruction.
    pub branch: u32,
    pub bytes: u16,
    pub start_known_by: u32,
    pub pc_known_by: u32,
}

/// A block, as far as it is the same in every layout but for its address.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    pub start: u64,
    /// What its first instruction is called: see [`super::BranchNames`].
    pub name: u32,
    /// At least 1.
    pub bytes: u16,
    /// From the start to the last instruction.
    pub last_offset: u16,
    pub kernel: bool,
    /// The last instruction is a conditional branch, which the one before it sets the flags for.
    pub conditional: bool,
}

/// Blocks by number.
#[derive(Debug, Clone)]
pub struct Placed {
    pub(super) fetched: Vec<Fetched>,
    pub(super) ends: Vec<Ends>,
    pub(super) starts: Vec<u64>,
    /// Of blocks with more than two.
    pub(super) keys: Vec<u32>,
    pub(super) shapes: Shapes,
    lines: Numbering,
    windows: Numbering,
    costs: Costs,
    geometry: DecoupledGeometry,
}

impl Placed {
    /// None yet.
    #[must_use]
    pub fn new(model: &CpuModel, geometry: &DecoupledGeometry) -> Self {
        Self {
            fetched: Vec::new(),
            ends: Vec::new(),
            starts: Vec::new(),
            keys: Vec::new(),
            shapes: Shapes::default(),
            lines: Numbering {
                shift: model.line_bytes.trailing_zeros(),
            },
            windows: windows(geometry),
            costs: Costs::new(model, geometry),
            geometry: geometry.clone(),
        }
    }

    /// The next block, with the sizes of its instructions in bytes; operations: see
    /// [`super::FrontEnd::describe`]. False when it has none, or more
    /// than there is room for: it cannot be executed here.
    #[must_use]
    pub fn add(
        &mut self,
        block: Described,
        sizes: impl Iterator<Item = u8>,
        operations: impl FnOnce() -> Vec<Operation>,
    ) -> bool {
        let (number, conditional) = (self.starts.len(), block.conditional);
        let geometry = &self.geometry;
        self.shapes.add(
            number,
            block.start,
            sizes,
            conditional,
            operations,
            geometry,
        );
        self.place(block, number).is_some()
    }

    /// A block's first and last address.
    pub(super) fn span(&self, number: u32) -> (u64, u64) {
        let start = self.starts[number as usize];
        let bytes = u64::from(self.ends[number as usize].bytes);
        (start, start + bytes - 1)
    }

    /// What the micro-op cache knows a line of a block by that belongs to a run. begins: where it
    /// does in its window, as [`Shapes::begins`] says.
    #[inline(always)]
    pub(super) fn key(&self, number: u32, stretch: &Stretch, begins: u8) -> u32 {
        let kernel = self.fetched[number as usize].line >> self.lines.mode() == 1;
        let window = self
            .windows
            .of(stretch.window << self.windows.shift, kernel);
        window | u32::from(begins) << (self.windows.mode() + 1)
    }

    fn place(&mut self, block: Described, number: usize) -> Option<()> {
        let shape = self.shapes.of(number);
        let supplied = Supplied::new(shape, block.kernel, &self.geometry, &self.costs)?;
        let last = block.start + u64::from(block.bytes) - 1;
        let line = self.lines.of(block.start, block.kernel);
        let more_lines = self.lines.of(last, block.kernel).wrapping_sub(line);
        let pc = (block.start + u64::from(block.last_offset)) as u32;
        let predictor = &self.geometry.predictor;
        let known_by = |offset: u16| match predictor.by_function {
            true => drawn(block.name.wrapping_add(offset.into()), predictor.draw),
            false => (block.start as u32).wrapping_add(offset.into()),
        };
        let keys = &supplied.keys;
        let key = match keys[..] {
            [] => [0, 0],
            [one] => [one, one],
            [one, other] => [one, other],
            _ => [self.keys.len() as u32, 0],
        };
        if keys.len() > 2 {
            self.keys.extend(keys);
        }
        self.fetched.push(Fetched {
            line,
            more_lines: u8::try_from(more_lines).ok()?,
            keys: u8::try_from(keys.len()).ok()?,
            ops: supplied.ops,
            first_window: supplied.windows[0],
            last_window: supplied.windows[1],
            key,
            supply: supplied.supply,
        });
        self.ends.push(Ends {
            start: block.start as u32,
            pc,
            // Mixed as `Decoupled` does: bit 0 of an address tells nothing there either.
            branch: pc >> 1 ^ pc >> 6 | u32::from(block.kernel) << 31,
            bytes: block.bytes,
            start_known_by: known_by(0),
            pc_known_by: known_by(block.last_offset),
        });
        self.starts.push(block.start);
        Some(())
    }
}

/// Windows of the micro-op cache, or of the decoders where there is none.
fn windows(geometry: &DecoupledGeometry) -> Numbering {
    let cache = geometry.op_cache.as_ref();
    let bytes = cache.map_or(geometry.fetch.decode_bytes, |cache| cache.window_bytes);
    Numbering {
        shift: bytes.trailing_zeros(),
    }
}

/// How a block's micro-ops are supplied.
struct Supplied {
    ops: u16,
    windows: [u32; 2],
    keys: Vec<u32>,
    supply: [u32; 2],
}

impl Supplied {
    fn new(
        (ops, stretches): (u32, &[Stretch]),
        kernel: bool,
        geometry: &DecoupledGeometry,
        costs: &Costs,
    ) -> Option<Self> {
        let op_cache = geometry.op_cache.as_ref();
        let windows = windows(geometry);
        let window = |stretch: &Stretch| windows.of(stretch.window << windows.shift, kernel);
        let (first, last) = (stretches.first()?, stretches.last()?);
        let lines_at = windows.mode() + 1;
        let most = (1_u32 << (u32::BITS - lines_at)) - 1;
        let mut keys = Vec::new();
        if op_cache.is_some() {
            for stretch in stretches {
                let count = stretch.lines().count() as u32;
                if count > most {
                    return None;
                }
                keys.extend((0..count).map(|line| window(stretch) | line << lines_at));
            }
        }
        let supply = match op_cache {
            Some(_) => {
                let each = costs.window as u32;
                let count = stretches.len() as u32;
                [count * each, (count - 1) * each]
            }
            None => {
                let decoded: u32 = stretches.iter().map(|stretch| stretch.decode).sum();
                let going_on = u32::from(first.ops) * costs.decoded_op as u32;
                [decoded, decoded - first.decode + going_on]
            }
        };
        Some(Self {
            ops: ops as u16,
            windows: [window(first), window(last)],
            keys,
            supply,
        })
    }
}
