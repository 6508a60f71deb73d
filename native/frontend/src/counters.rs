// SPDX-License-Identifier: GPL-2.0-or-later
//! What is counted, and the sum that turns it into cycles.

use super::CpuModel;
use super::clocks::TICKS;

/// The figures in their order, once: as fields, and as an array.
macro_rules! counters {
    ($($(#[$told:meta])* $figure:ident,)+) => {
        /// Figures of one mode (kernel or user) over one region.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$told])* pub $figure: u64,)+
        }

        impl Counters {
            /// How many figures there are.
            pub const FIGURES: usize = [$(stringify!($figure)),+].len();

            /// All figures, in the order of the fields.
            #[must_use]
            pub fn figures(&self) -> [u64; Self::FIGURES] {
                [$(self.$figure),+]
            }

            /// The reverse of [`Self::figures`].
            #[must_use]
            pub fn from_figures(figures: [u64; Self::FIGURES]) -> Self {
                let [$($figure),+] = figures;
                Self { $($figure),+ }
            }

            /// So many times each figure, to the nearest whole number.
            #[must_use]
            pub fn scaled(&self, times: f64) -> Self {
                Self::from_figures(self.figures().map(|figure| (figure as f64 * times).round() as u64))
            }
        }
    };
}

counters! {
    /// Executed instructions; a `rep` string instruction is one, whatever its length.
    instructions,
    /// Branches that went elsewhere than to the next instruction; calls and returns included.
    taken_branches,
    /// Conditional branches, taken or not.
    conditional_branches,
    /// Conditional branches whose direction was predicted wrong.
    branch_mispredictions,
    /// Indirect jumps, indirect calls and returns whose target was predicted wrong.
    indirect_mispredictions,
    /// Taken direct branches, not mispredicted, that the branch target buffer did not know.
    btb_misses,
    /// Cache lines entered by instruction fetch.
    l1i_accesses,
    /// Of these, not in L1i.
    l1i_misses,
    /// Of these, not in L2 either.
    l2i_misses,
    /// Pages entered by instruction fetch that were not in the instruction TLB.
    itlb_misses,
    /// Of these, not in the second-level TLB either.
    stlb_misses,
    /// Executed `rep` string instructions.
    rep_instructions,
    /// Their iterations.
    rep_iterations,
    /// Bytes that these iterations handled (iterations × operand size).
    rep_bytes,
    /// Time by the clocks of a decoupled front end, in parts of a cycle (`clocks.rs`).
    ticks,
}

impl Counters {
    /// `docs/model.md`: time by the clocks of a decoupled front end; of others, issue slots and a
    /// penalty for each event.
    #[must_use]
    pub fn cycles(&self, model: &CpuModel) -> f64 {
        let times = |events: u64, cycles: f64| events as f64 * cycles;
        let repeated = times(self.rep_instructions, model.rep.startup_cycles)
            + self.rep_bytes as f64 / model.rep.bytes_per_cycle;
        if model.decoupled.is_some() {
            return self.ticks as f64 / TICKS as f64 + repeated;
        }
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
            + repeated
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
