// SPDX-License-Identifier: GPL-2.0-or-later
//! The known ways to order functions. All of them put what was executed first.

use kernsmith_arch::SMALL;

use super::chains::{cache_directed, call_chain_clustering, pettis_hansen};
use super::graph::Graph;

/// An algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// What is executed most comes first.
    HotFirst,
    /// What is executed most for its size comes first.
    Density,
    /// Pettis and Hansen, "Profile guided code positioning", PLDI 1990: the heaviest edge of the
    /// undirected call graph joins two chains, at the ends that are closest.
    PettisHansen,
    /// Ottoni and Maher, "Optimizing function placement for large-scale data-center
    /// applications", CGO 2017 (C3, hfsort): each function goes behind the caller that calls it
    /// most.
    C3,
    /// Cache-directed sort (`CDSort`), after the description and the parameters in LLVM
    /// (`llvm/lib/Transforms/Utils/CodeLayout.cpp`): the chains are joined whose joining gains
    /// most locality.
    CdSort,
}

impl Algorithm {
    /// All of them, with the names that users know.
    pub const ALL: [(&'static str, Self); 5] = [
        ("hot-first", Self::HotFirst),
        ("density", Self::Density),
        ("pettis-hansen", Self::PettisHansen),
        ("c3", Self::C3),
        ("cdsort", Self::CdSort),
    ];

    /// Sections, first to last; those that were not executed are left out.
    #[must_use]
    pub fn order(self, graph: &Graph) -> Vec<u32> {
        let nodes = match self {
            Self::HotFirst => graph.by(|node| node.weight),
            Self::Density => graph.by(|node| node.weight / node.size as f64),
            Self::PettisHansen => pettis_hansen(graph, 1 << SMALL),
            Self::C3 => call_chain_clustering(graph),
            Self::CdSort => cache_directed(graph),
        };
        graph.sections(&nodes)
    }
}
