// SPDX-License-Identifier: GPL-2.0-or-later
//! Which code is of which function: out of line, and inlined into others (DWARF 5, section 3.3).

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Unit, constants as dw};

use super::names::Names;
use super::{Instance, NONE, Slice};

/// The instances of a unit, and where the code of each is.
#[derive(Debug, Default)]
pub struct Instances {
    pub all: Vec<Instance>,
    /// The address of the first instruction of each.
    pub entries: Vec<u64>,
    /// First address, address behind the last, instance: the innermost one; by address, apart.
    pub spans: Vec<(u64, u64, u32)>,
}

impl Instances {
    /// Reads a unit's functions.
    pub fn read<'a>(
        dwarf: &Dwarf<Slice<'a>>,
        names: &mut Names<'a>,
        number: usize,
    ) -> gimli::Result<Self> {
        let mut found = Self::default();
        let mut ranges = Vec::new();
        let mut above: Vec<(isize, u32)> = Vec::new();
        let mut entries = Vec::new();
        let mut cursor = names.units[number].unit.entries();
        while let Some(entry) = cursor.next_dfs()? {
            if matches!(
                entry.tag(),
                dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine
            ) {
                entries.push(entry.clone());
            }
        }
        for entry in entries {
            while above
                .last()
                .is_some_and(|(depth, _)| *depth >= entry.depth())
            {
                above.pop();
            }
            let code = code_of(dwarf, &names.units[number].unit, &entry)?;
            let Some(first) = code.first() else {
                continue;
            };
            let function = names.function(dwarf, number, &entry);
            let unit = &names.units[number].unit;
            let inlined = entry.tag() == dw::DW_TAG_inlined_subroutine;
            let parent = above.last().filter(|_| inlined).map_or(NONE, |last| last.1);
            let line = entry.attr_value(dw::DW_AT_call_line);
            let line = line.and_then(|line| line.udata_value()).unwrap_or_default();
            let instance = found.all.len() as u32;
            found.all.push(Instance {
                function,
                parent,
                call_line: u32::try_from(line).unwrap_or_default(),
            });
            found
                .entries
                .push(entry_of(dwarf, unit, &entry).unwrap_or(first.0));
            ranges.extend(code.iter().map(|(begin, end)| (*begin, *end, instance)));
            above.push((entry.depth(), instance));
        }
        found.spans = innermost(ranges);
        Ok(found)
    }

    /// The parts of a stretch of code with the instance of each: `NONE` where there is none.
    pub fn parts(&self, begin: u64, end: u64) -> Vec<(u64, u64, u32)> {
        let first = self.spans.partition_point(|span| span.1 <= begin);
        let (mut parts, mut at) = (Vec::new(), begin);
        for (from, to, instance) in &self.spans[first..] {
            if *from >= end {
                break;
            }
            if at < *from {
                parts.push((at, *from, NONE));
                at = *from;
            }
            parts.push((at, end.min(*to), *instance));
            at = end.min(*to);
        }
        if at < end {
            parts.push((at, end, NONE));
        }
        parts
    }
}

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// First address of each stretch of its code, and the one behind its last.
fn code_of<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
) -> gimli::Result<Vec<(u64, u64)>> {
    let mut ranges = dwarf.die_ranges(unit, entry)?;
    let mut found = Vec::new();
    while let Some(range) = ranges.next()? {
        if range.begin < range.end {
            found.push((range.begin, range.end));
        }
    }
    Ok(found)
}

fn entry_of<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
) -> Option<u64> {
    let value = entry.attr_value(dw::DW_AT_entry_pc)?;
    match value {
        AttributeValue::Udata(_) => None,
        value => dwarf.attr_address(unit, value).ok()?,
    }
}

/// Of stretches within each other the innermost ones, by address and apart.
///
/// ranges: first address, address behind the last, instance; outer instances have lower numbers.
fn innermost(mut ranges: Vec<(u64, u64, u32)>) -> Vec<(u64, u64, u32)> {
    ranges.sort_unstable_by_key(|(begin, end, instance)| (*begin, u64::MAX - *end, *instance));
    let mut found = Vec::with_capacity(ranges.len());
    let mut open: Vec<(u64, u32)> = Vec::new();
    let mut at = 0;
    let mut emit = |at: &mut u64, to: u64, instance: u32| {
        if *at < to {
            found.push((*at, to, instance));
            *at = to;
        }
    };
    for (begin, end, instance) in ranges {
        while let Some((until, outer)) = open.last().copied().filter(|last| last.0 <= begin) {
            emit(&mut at, until, outer);
            open.pop();
        }
        let mut end = end;
        if let Some((until, outer)) = open.last() {
            emit(&mut at, begin, *outer);
            end = end.min(*until);
        }
        at = at.max(begin);
        open.push((end, instance));
    }
    while let Some((until, outer)) = open.pop() {
        emit(&mut at, until, outer);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::innermost;

    #[test]
    fn the_innermost_of_stretches() {
        let ranges = vec![
            (0, 100, 0),
            (10, 30, 1),
            (10, 20, 2),
            (40, 50, 3),
            (200, 300, 4),
        ];
        let expected = [
            (0, 10, 0),
            (10, 20, 2),
            (20, 30, 1),
            (30, 40, 0),
            (40, 50, 3),
            (50, 100, 0),
            (200, 300, 4),
        ];
        assert_eq!(innermost(ranges), expected);
    }

    #[test]
    fn what_is_not_nested_stays_within_the_outer_one() {
        assert_eq!(
            innermost(vec![(0, 10, 0), (5, 20, 1)]),
            [(0, 5, 0), (5, 10, 1)]
        );
    }
}
