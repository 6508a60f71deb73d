// SPDX-License-Identifier: GPL-2.0-or-later
//! Code that is walked through a front end in time, block after block.
#![allow(dead_code)]

use kernsmith_frontend::{
    Access, Branch, CoreGeometry, Counters, CpuModel, DataCounters, DataGeometry,
    DecoupledGeometry, FrontEnd,
};

const MODEL: &str = include_str!("../../../../cpus/emeraldrapids.toml");

/// Executes blocks of four-byte instructions that end with a jump, and counts.
pub struct Walk {
    front_end: FrontEnd,
    model: CpuModel,
    counters: Counters,
    data: DataCounters,
    known: Vec<(u64, u64)>,
}

impl Walk {
    /// With the shipped sizes, round figures for what is calibrated, and a change to that.
    pub fn new(change: impl Fn(&mut DecoupledGeometry)) -> Self {
        let mut model = CpuModel::parse(MODEL).expect("valid");
        let geometry = model.decoupled.as_mut().expect("it is in time");
        geometry.core = CoreGeometry {
            window: None,
            load_cycles: 0.0,
            width: 4.0,
            queue: 144,
            stall_cycles: 0.0,
            depth_cycles: 8.0,
            resolve_cycles: 10.0,
        };
        geometry.fetch.decode_steer_cycles = 8.0;
        geometry.fetch.switch_cycles = 1.0;
        for (buffer, cycles) in geometry.buffers.iter_mut().zip([0.0, 1.0, 3.0]) {
            buffer.cycles = cycles;
        }
        change(geometry);
        Self::of(model)
    }

    /// Through this model as it is.
    pub fn of(model: CpuModel) -> Self {
        Self {
            front_end: FrontEnd::new(&model),
            model,
            counters: Counters::default(),
            data: DataCounters::default(),
            known: Vec::new(),
        }
    }

    /// From now on with data, and a change to what the model says of them.
    pub fn follow_data(&mut self, change: impl Fn(&mut DataGeometry)) {
        change(self.model.data.as_mut().expect("it has a data side"));
        self.front_end.follow_data(&self.model);
    }

    /// A load or store of the last block.
    pub fn access(&mut self, access: Access) {
        self.front_end.access(access, &mut self.data);
    }

    /// What loads and stores were counted as.
    pub fn data(&self) -> DataCounters {
        self.data
    }

    /// So many instructions from `start` on.
    pub fn block(&mut self, start: u64, instructions: u64) {
        let key = (start, instructions);
        let number = self.known.iter().position(|one| *one == key);
        let number = number.unwrap_or_else(|| {
            self.known.push(key);
            self.known.len() - 1
        });
        if self.front_end.wants(number) {
            let sizes = std::iter::repeat_n(4, instructions as usize);
            self.front_end
                .describe(number, start, sizes, false, Vec::new);
        }
        let last = start + 4 * instructions - 1;
        self.front_end
            .enter(number, start, last, &mut self.counters);
        self.counters.instructions += instructions;
    }

    pub fn branch(&mut self, branch: Branch) {
        let names = branch.by_address();
        self.front_end.branch(branch, names, &mut self.counters);
    }

    pub fn jump(&mut self, pc: u64, target: u64) {
        self.branch(Branch::Jump { pc, target });
    }

    pub fn conditional(&mut self, pc: u64, target: u64, taken: bool) {
        self.branch(Branch::Conditional { pc, target, taken });
    }

    /// What the counters have grown by since the last call.
    pub fn since(&mut self) -> (Counters, f64) {
        let counted = std::mem::take(&mut self.counters);
        (counted, counted.cycles(&self.model))
    }
}

/// A ring of blocks, each of eight instructions and so many bytes behind the one before.
pub fn ring(walk: &mut Walk, blocks: u64, apart: u64, rounds: u64) {
    for _ in 0..rounds {
        for number in 0..blocks {
            let start = 0x40_0000 + number * apart;
            walk.block(start, 8);
            walk.jump(start + 28, 0x40_0000 + (number + 1) % blocks * apart);
        }
    }
}
