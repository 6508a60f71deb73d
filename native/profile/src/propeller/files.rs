// SPDX-License-Identifier: GPL-2.0-or-later
//! The two files that clang and the linker build with: clusters of blocks, and an order of
//! functions.
//!
//! The first is version 1 of the format that `llvm/lib/CodeGen/BasicBlockSectionsProfileReader.cpp`
//! reads: `v1`, then for each function `m FILE`, the source that it is of, if that is known, `f
//! NAME ALIAS …`, and `c ID …`, the blocks of a cluster in their order. Blocks that no cluster
//! names go to the function's cold part. The second has a symbol a line (`--symbol-ordering-file`).

use std::fmt::Write;

use super::address_map::Block;
use super::control_flow::{Graph, Graphs};
use super::counts::Counts;
use super::ext_tsp::{Jump, ext_tsp};
use super::flow::repair;
use super::function_order::{Room, function_order};
use super::image::{Function, Image};

/// In which order a function's executed blocks lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOrder {
    /// That of [`ext_tsp`].
    ExtTsp,
    /// As the compiler had them.
    Kept,
}

impl BlockOrder {
    /// All of them, with the names that users know.
    pub const ALL: [(&'static str, Self); 2] = [("ext-tsp", Self::ExtTsp), ("kept", Self::Kept)];
}

/// What the linker script does with the text at some addresses.
#[derive(Debug, Clone, Default)]
pub struct Regions {
    /// First address of the text whose functions are laid out, and the one behind the last.
    pub text: (u64, u64),
    /// Parts of it that the kernel asks for by their bounds: functions there stay in one piece.
    pub whole: Vec<(u64, u64)>,
}

/// A function whose blocks have got an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    /// Its number in the image.
    pub function: usize,
    /// Blocks of the hot cluster.
    pub blocks: Vec<usize>,
    /// By block of the function: bytes from the cluster's begin; none for cold ones.
    places: Vec<Option<u64>>,
}

impl Laid {
    /// Where a block begins in the hot cluster, in bytes.
    #[must_use]
    pub fn place(&self, block: usize) -> Option<u64> {
        self.places.get(block).copied().flatten()
    }
}

/// What was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// The compiler's file.
    pub clusters: String,
    /// The linker's file.
    pub symbols: String,
    /// Functions that are laid out, and those that are not because another one has their name.
    pub functions: usize,
    pub nameless: usize,
    /// Blocks of these functions: hot ones, and all.
    pub hot_blocks: usize,
    pub blocks: usize,
    /// Bytes of hot and of all of these blocks.
    pub hot_bytes: u64,
    pub bytes: u64,
}

/// Makes the files from an image's blocks and their counts.
///
/// Nothing is laid out where the counts cover no function.
#[must_use]
pub fn make(image: &Image, counts: &Counts, regions: &Regions, order: BlockOrder) -> Profile {
    let mut counted = Graphs::new(image, counts);
    let mut profile = Profile::default();
    let (mut laid, mut rooms) = (Vec::new(), Vec::new());
    for (number, function) in image.functions.iter().enumerate() {
        let graph = &mut counted.graphs[number];
        let entry = function.blocks[0].start;
        if !graph.is_executed() || !contains(regions.text, entry) {
            continue;
        }
        if function.ambiguous && function.module.as_deref().is_none_or(is_no_word) {
            profile.nameless += 1;
            continue;
        }
        repair(graph);
        let whole = regions.whole.iter().any(|span| contains(*span, entry));
        let one = lay_out(number, function, graph, order, whole);
        profile.count(function, &one);
        rooms.push(Room {
            bytes: size(function, &one.blocks),
            weight: graph.counts.iter().sum(),
        });
        laid.push(one);
    }
    profile.clusters = clusters(image, &laid);
    for number in function_order(&laid, &rooms, &counted.calls) {
        let function = &image.functions[laid[number].function];
        let _ = writeln!(profile.symbols, "{}", function.names[0]);
    }
    profile
}

impl Profile {
    fn count(&mut self, function: &Function, laid: &Laid) {
        let all: Vec<usize> = (0..function.blocks.len()).collect();
        self.functions += 1;
        self.hot_blocks += laid.blocks.len();
        self.blocks += all.len();
        self.hot_bytes += size(function, &laid.blocks);
        self.bytes += size(function, &all);
    }
}

fn contains(span: (u64, u64), address: u64) -> bool {
    span.0 <= address && address < span.1
}

/// Whether a file's name cannot stand in the profile, whose lines are words.
fn is_no_word(name: &str) -> bool {
    name.is_empty() || name.contains(char::is_whitespace)
}

fn size(function: &Function, blocks: &[usize]) -> u64 {
    let sizes = blocks
        .iter()
        .map(|block| u64::from(function.blocks[*block].size));
    sizes.sum()
}

/// whole: all blocks belong to the cluster, those that were not executed behind the others.
fn lay_out(
    number: usize,
    function: &Function,
    graph: &Graph,
    order: BlockOrder,
    whole: bool,
) -> Laid {
    // A function begins with its entry, executed or not.
    let hot: Vec<usize> = (0..function.blocks.len())
        .filter(|block| *block == 0 || graph.counts[*block] > 0)
        .collect();
    let mut blocks = match order {
        BlockOrder::ExtTsp => reordered(&function.blocks, graph, &hot),
        BlockOrder::Kept => hot.clone(),
    };
    if whole {
        blocks.extend((0..function.blocks.len()).filter(|block| hot.binary_search(block).is_err()));
    }
    let mut places = vec![None; function.blocks.len()];
    let mut at = 0;
    for block in &blocks {
        places[*block] = Some(at);
        at += u64::from(function.blocks[*block].size);
    }
    Laid {
        function: number,
        blocks,
        places,
    }
}

fn reordered(blocks: &[Block], graph: &Graph, hot: &[usize]) -> Vec<usize> {
    let place = |block: usize| hot.binary_search(&block).ok();
    let jump = |edge: &super::control_flow::Edge| {
        Some(Jump {
            from: place(edge.from)?,
            to: place(edge.to)?,
            count: edge.count,
        })
    };
    let executed = graph.edges.iter().filter(|edge| edge.count > 0);
    let jumps: Vec<Jump> = executed.filter_map(jump).collect();
    let sizes: Vec<u64> = hot
        .iter()
        .map(|block| u64::from(blocks[*block].size))
        .collect();
    let counts: Vec<u64> = hot.iter().map(|block| graph.counts[*block]).collect();
    let order = ext_tsp(&sizes, &counts, &jumps);
    order.into_iter().map(|at| hot[at]).collect()
}

fn clusters(image: &Image, laid: &[Laid]) -> String {
    let mut text = String::from("v1\n");
    for one in laid {
        let function = &image.functions[one.function];
        if let Some(module) = function
            .module
            .as_ref()
            .filter(|module| !is_no_word(module))
        {
            let _ = writeln!(text, "m {module}");
        }
        let _ = writeln!(text, "f {}", function.names.join(" "));
        text.push('c');
        for block in &one.blocks {
            let _ = write!(text, " {}", function.blocks[*block].id);
        }
        text.push('\n');
    }
    text
}
