// SPDX-License-Identifier: GPL-2.0-or-later
//! What is counted, and the sum that turns it into cycles.

use super::CpuModel;

/// Figures of one mode (kernel or user) over one region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Executed instructions; a `rep` string instruction is one, whatever its length.
    pub instructions: u64,
    /// Branches that went elsewhere than to the next instruction; calls and returns included.
    pub taken_branches: u64,
    /// Conditional branches, taken or not.
    pub conditional_branches: u64,
    /// Conditional branches whose direction was predicted wrong.
    pub branch_mispredictions: u64,
    /// Indirect jumps, indirect calls and returns whose target was predicted wrong.
    pub indirect_mispredictions: u64,
    /// Taken direct branches, not mispredicted, that the branch target buffer did not know.
    pub btb_misses: u64,
    /// Cache lines entered by instruction fetch.
    pub l1i_accesses: u64,
    /// Of these, not in L1i.
    pub l1i_misses: u64,
    /// Of these, not in L2 either.
    pub l2i_misses: u64,
    /// Pages entered by instruction fetch that were not in the instruction TLB.
    pub itlb_misses: u64,
    /// Of these, not in the second-level TLB either.
    pub stlb_misses: u64,
    /// Executed `rep` string instructions.
    pub rep_instructions: u64,
    /// Their iterations.
    pub rep_iterations: u64,
    /// Bytes that these iterations handled (iterations × operand size).
    pub rep_bytes: u64,
}

impl Counters {
    /// The documented sum (`docs/model.md`): issue slots, then a penalty for each event.
    #[must_use]
    pub fn cycles(&self, model: &CpuModel) -> f64 {
        let times = |events: u64, cycles: f64| events as f64 * cycles;
        let predictor = &model.predictor;
        let mispredictions = self.branch_mispredictions + self.indirect_mispredictions;
        self.instructions as f64 / model.width
            + times(self.l1i_misses, model.l1i.miss_cycles)
            + times(self.l2i_misses, model.l2.miss_cycles)
            + times(self.itlb_misses, model.itlb.miss_cycles)
            + times(self.stlb_misses, model.stlb.miss_cycles)
            + times(mispredictions, predictor.mispredict_cycles)
            + times(self.btb_misses, predictor.btb_miss_cycles)
            + times(self.taken_branches, predictor.taken_cycles)
            + times(self.rep_instructions, model.rep.startup_cycles)
            + self.rep_bytes as f64 / model.rep.bytes_per_cycle
    }
}

impl Counters {
    /// How many figures there are.
    pub const FIGURES: usize = 14;

    /// All figures, in the order of the fields.
    #[must_use]
    pub fn figures(&self) -> [u64; Self::FIGURES] {
        [
            self.instructions,
            self.taken_branches,
            self.conditional_branches,
            self.branch_mispredictions,
            self.indirect_mispredictions,
            self.btb_misses,
            self.l1i_accesses,
            self.l1i_misses,
            self.l2i_misses,
            self.itlb_misses,
            self.stlb_misses,
            self.rep_instructions,
            self.rep_iterations,
            self.rep_bytes,
        ]
    }

    /// The reverse of [`Self::figures`].
    #[must_use]
    pub fn from_figures(figures: [u64; Self::FIGURES]) -> Self {
        let [
            instructions,
            taken_branches,
            conditional_branches,
            branch_mispredictions,
            indirect_mispredictions,
            btb_misses,
            l1i_accesses,
            l1i_misses,
            l2i_misses,
            itlb_misses,
            stlb_misses,
            rep_instructions,
            rep_iterations,
            rep_bytes,
        ] = figures;
        Self {
            instructions,
            taken_branches,
            conditional_branches,
            branch_mispredictions,
            indirect_mispredictions,
            btb_misses,
            l1i_accesses,
            l1i_misses,
            l2i_misses,
            itlb_misses,
            stlb_misses,
            rep_instructions,
            rep_iterations,
            rep_bytes,
        }
    }
}

impl std::ops::Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let mut sum = self.figures();
        for (figure, more) in sum.iter_mut().zip(other.figures()) {
            *figure += more;
        }
        Self::from_figures(sum)
    }
}
