// SPDX-License-Identifier: GPL-2.0-or-later
//! How often each instruction was executed.

use crate::Code;

const LOCK: u8 = 0xf0;

/// What was executed of some code: instructions, and how often the one that was executed most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Instructions that are there.
    pub instructions: u64,
    pub executed: u64,
    pub most: u64,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.executed = self.executed.saturating_add(other.executed);
        self.most = self.most.max(other.most);
    }
}

/// Stretches of code with how often each was executed.
#[derive(Debug)]
pub struct Executed<'a> {
    code: &'a Code,
    /// Sections: the address of each and its bytes.
    sections: &'a [(u64, &'a [u8])],
    /// First address, address behind the last, executions above 0; by address, apart.
    spans: Vec<(u64, u64, u64)>,
}

impl<'a> Executed<'a> {
    /// ranges: first byte, address of the last instruction, executions; those may overlap.
    pub fn new(
        ranges: &[(u64, u64, u64)],
        code: &'a Code,
        sections: &'a [(u64, &'a [u8])],
    ) -> Self {
        let mut changes: Vec<(u64, i128)> = Vec::with_capacity(2 * ranges.len());
        for (first, last, count) in ranges {
            if first <= last && code.offset(*first).is_some() && code.offset(*last).is_some() {
                changes.push((*first, i128::from(*count)));
                changes.push((*last + 1, -i128::from(*count)));
            }
        }
        changes.sort_unstable();
        let mut spans = Vec::new();
        let (mut now, mut at) = (0_i128, 0);
        for (address, change) in changes {
            if now > 0 && at < address {
                spans.push((at, address, u64::try_from(now).unwrap_or(u64::MAX)));
            }
            now += change;
            at = address;
        }
        Self {
            code,
            sections,
            spans,
        }
    }

    /// All that was executed.
    pub fn spans(&self) -> &[(u64, u64, u64)] {
        &self.spans
    }

    /// How often the instruction at an address was executed.
    pub fn at(&self, address: u64) -> u64 {
        let next = self.spans.partition_point(|span| span.1 <= address);
        match self.spans.get(next) {
            Some((begin, _, count)) if *begin <= address => *count,
            _ => 0,
        }
    }

    /// Whether this is code.
    pub fn holds(&self, address: u64) -> bool {
        self.code.offset(address).is_some()
    }

    /// What was executed of the instructions that begin between two addresses.
    pub fn tally(&self, begin: u64, end: u64) -> Tally {
        let mut found = Tally {
            instructions: self.instructions(begin, end),
            ..Tally::default()
        };
        let first = self.spans.partition_point(|span| span.1 <= begin);
        for (from, to, count) in &self.spans[first..] {
            if *from >= end {
                break;
            }
            let instructions = self.instructions(begin.max(*from), end.min(*to));
            if instructions > 0 {
                let executed = instructions.saturating_mul(*count);
                found.executed = found.executed.saturating_add(executed);
                found.most = found.most.max(*count);
            }
        }
        found
    }

    fn instructions(&self, begin: u64, end: u64) -> u64 {
        let Some(first) = self.code.offset(begin) else {
            return 0;
        };
        let last = end.checked_sub(1).and_then(|last| self.code.offset(last));
        let begins = |offset: &u32| self.code.begins(*offset) && !self.is_locked(*offset);
        last.map_or(0, |last| (first..=last).filter(begins).count() as u64)
    }

    /// Whether what begins here is the rest of an instruction behind its `lock`.
    fn is_locked(&self, offset: u32) -> bool {
        let Some(before) = offset.checked_sub(1) else {
            return false;
        };
        self.code.begins(before) && self.byte(self.code.address(before)) == Some(LOCK)
    }

    fn byte(&self, address: u64) -> Option<u8> {
        let holds = |(begin, bytes): &&(u64, &[u8])| {
            address
                .checked_sub(*begin)
                .is_some_and(|at| at < bytes.len() as u64)
        };
        let (begin, bytes) = self.sections.iter().find(holds)?;
        bytes.get((address - begin) as usize).copied()
    }
}
