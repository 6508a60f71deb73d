// SPDX-License-Identifier: GPL-2.0-or-later
//! Goes through all units, and adds up what was executed of each line and function.

use std::collections::HashMap;

use gimli::Dwarf;

use super::executed::{Executed, Tally};
use super::instances::Instances;
use super::names::Names;
use super::symbols::Symbols;
use super::{Coverage, Instance, Line, NONE, Sample, Slice};

/// What is known so far.
pub struct Collector<'a, 'e> {
    executed: &'e Executed<'e>,
    names: Names<'a>,
    lines: HashMap<(u32, u32), LineSum>,
    instances: Vec<Instance>,
    samples: Vec<Sample>,
    /// First address of code that is of a function, and the one behind its last.
    told: Vec<(u64, u64)>,
    symbols: &'e Symbols,
}

#[derive(Debug, Clone, Copy)]
struct LineSum {
    count: u64,
    executed: u64,
    function: u32,
    /// How often it was executed in that function.
    most: u64,
}

/// A row of a line table: first address, the one behind its last, file and line.
type Row = (u64, u64, u32, u32);

impl<'a, 'e> Collector<'a, 'e> {
    pub fn new(executed: &'e Executed<'e>, names: Names<'a>, symbols: &'e Symbols) -> Self {
        Self {
            executed,
            names,
            lines: HashMap::new(),
            instances: Vec::new(),
            samples: Vec::new(),
            told: Vec::new(),
            symbols,
        }
    }

    /// Adds up all units.
    pub fn read_units(&mut self, dwarf: &Dwarf<Slice<'a>>) -> gimli::Result<()> {
        for unit in 0..self.names.units.len() {
            let mut instances = Instances::read(dwarf, &mut self.names, unit)?;
            let rows = self.rows(unit)?;
            if instances.all.is_empty() {
                instances = self.of_symbols(&rows);
            }
            for (instance, entry) in instances.all.iter().zip(&instances.entries) {
                let function = &mut self.names.functions[instance.function as usize];
                let entered = self.executed.at(*entry);
                function.entered = function.entered.saturating_add(entered);
            }
            self.add_rows(&rows, &instances);
        }
        Ok(())
    }

    /// The rows of code that was not left out when the file was linked.
    fn rows(&self, unit: usize) -> gimli::Result<Vec<Row>> {
        let own = &self.names.units[unit];
        let Some(program) = own.unit.line_program.clone() else {
            return Ok(Vec::new());
        };
        let mut found: Vec<Row> = Vec::new();
        let mut last: Option<(u64, u32, u32)> = None;
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            if let Some((begin, file, line)) = last
                && begin < row.address()
                && self.executed.holds(begin)
                && self.executed.holds(row.address() - 1)
            {
                found.push((begin, row.address(), file, line));
            }
            let line = row.line().map_or(0, |line| line.get());
            let line = u32::try_from(line).unwrap_or_default();
            let here = (row.address(), own.file(row.file_index()), line);
            last = (!row.end_sequence()).then_some(here);
        }
        Ok(found)
    }

    /// What an assembler makes line tables for without functions: a symbol is one, at the line of
    /// the first of its rows.
    fn of_symbols(&mut self, rows: &[Row]) -> Instances {
        let mut found = Instances::default();
        let mut known = HashMap::new();
        let mut sorted: Vec<&Row> = rows.iter().collect();
        sorted.sort_unstable();
        for (begin, end, file, line) in sorted {
            let (Some((address, name)), _) = self.symbols.around(*begin) else {
                continue;
            };
            let next = found.all.len() as u32;
            let instance = *known.entry(address).or_insert(next);
            if instance == next {
                let function = self.names.number(name.to_owned(), *file, *line);
                found.all.push(Instance {
                    function,
                    parent: NONE,
                    call_line: 0,
                });
                found.entries.push(address);
            }
            found.spans.push((*begin, *end, instance));
        }
        found
    }

    fn add_rows(&mut self, rows: &[Row], instances: &Instances) {
        let mut places: HashMap<(u32, u32, u32), Tally> = HashMap::new();
        for (begin, end, file, line) in rows {
            for (from, to, instance) in instances.parts(*begin, *end) {
                if instance == NONE {
                    continue;
                }
                self.told.push((from, to));
                let tally = self.executed.tally(from, to);
                if tally.instructions > 0 {
                    places
                        .entry((instance, *file, *line))
                        .or_default()
                        .add(tally);
                }
            }
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        let mut numbers = HashMap::new();
        for ((instance, file, line), tally) in places {
            let function = instances.all[instance as usize].function;
            let own = &mut self.names.functions[function as usize];
            if own.file == NONE {
                // Assemblers tell no more of a function than its name.
                (own.file, own.line) = (file, line);
            }
            self.add_line((file, line), function, tally);
            if tally.executed > 0 {
                let instance = self.keep(instance, instances, &mut numbers);
                self.add_sample(instance, line, tally.executed);
            }
        }
    }

    fn add_line(&mut self, at: (u32, u32), function: u32, tally: Tally) {
        if at.0 == NONE || at.1 == 0 {
            return;
        }
        let sum = self.lines.entry(at).or_insert(LineSum {
            count: 0,
            executed: 0,
            function,
            most: 0,
        });
        sum.count = sum.count.saturating_add(tally.most);
        sum.executed = sum.executed.saturating_add(tally.executed);
        if tally.most > sum.most {
            (sum.most, sum.function) = (tally.most, function);
        }
    }

    fn add_sample(&mut self, instance: u32, line: u32, executed: u64) {
        let function = self.instances[instance as usize].function;
        let sum = &mut self.names.functions[function as usize].executed;
        *sum = sum.saturating_add(executed);
        self.samples.push(Sample {
            instance,
            line,
            executed,
        });
    }

    /// The number under which an instance of a unit goes on, and those that it is inlined in.
    fn keep(&mut self, own: u32, unit: &Instances, numbers: &mut HashMap<u32, u32>) -> u32 {
        let mut missing = Vec::new();
        let mut at = own;
        while at != NONE && !numbers.contains_key(&at) {
            missing.push(at);
            at = unit.all[at as usize].parent;
        }
        for one in missing.into_iter().rev() {
            let known = unit.all[one as usize];
            let parent = numbers.get(&known.parent).copied().unwrap_or(NONE);
            numbers.insert(one, self.instances.len() as u32);
            self.instances.push(Instance { parent, ..known });
        }
        numbers[&own]
    }

    /// What was executed of code that no unit tells about: symbols without a file.
    pub fn add_symbols(&mut self) {
        self.told.sort_unstable();
        for (begin, end, _) in self.executed.spans() {
            for (from, to) in gaps(&self.told, *begin, *end) {
                let mut at = from;
                while at < to {
                    let (own, next) = self.symbols.around(at);
                    let until = next.map_or(to, |next| next.min(to));
                    self.add_symbol(own.unwrap_or((at, "?")), at, until);
                    at = until;
                }
            }
        }
    }

    fn add_symbol(&mut self, (address, name): (u64, &str), begin: u64, end: u64) {
        let tally = self.executed.tally(begin, end);
        if tally.executed == 0 {
            return;
        }
        let before = self.names.functions.len();
        let function = self.names.number(name.to_owned(), NONE, 0);
        if self.names.functions.len() > before {
            self.names.functions[function as usize].entered = self.executed.at(address);
        }
        let instance = self.instances.len() as u32;
        self.instances.push(Instance {
            function,
            parent: NONE,
            call_line: 0,
        });
        self.add_sample(instance, 0, tally.executed);
    }

    /// The result: files of which nothing ran are left out, with their functions.
    pub fn finish(self) -> Coverage {
        let mut ran = vec![false; self.names.files.len()];
        for (at, _) in self.lines.iter().filter(|(_, sum)| sum.count > 0) {
            ran[at.0 as usize] = true;
        }
        let mut lines: Vec<Line> = self
            .lines
            .into_iter()
            .filter(|((file, _), _)| ran[*file as usize])
            .map(|((file, line), sum)| Line {
                file,
                line,
                count: sum.count,
                executed: sum.executed,
                function: sum.function,
            })
            .collect();
        lines.sort_unstable_by_key(|line| (line.file, line.line));
        let executed = self.samples.iter().map(|one| one.executed);
        let found = Coverage {
            executed: executed.fold(0, u64::saturating_add),
            files: self.names.files,
            functions: self.names.functions,
            lines,
            instances: self.instances,
            samples: self.samples,
            build_id: String::new(),
        };
        without_the_rest(found, &ran)
    }
}

/// Without other files than these, and functions that are not in them and did not run.
fn without_the_rest(mut found: Coverage, ran: &[bool]) -> Coverage {
    let in_file = |file: u32| ran.get(file as usize) == Some(&true);
    let mut wanted: Vec<bool> = found
        .functions
        .iter()
        .map(|one| in_file(one.file))
        .collect();
    for instance in &found.instances {
        wanted[instance.function as usize] = true;
    }
    for line in &found.lines {
        wanted[line.function as usize] = true;
    }
    let (file, function) = (renumbered(ran), renumbered(&wanted));
    for line in &mut found.lines {
        line.file = file[line.file as usize];
        line.function = function[line.function as usize];
    }
    for instance in &mut found.instances {
        instance.function = function[instance.function as usize];
    }
    for one in &mut found.functions {
        one.file = file.get(one.file as usize).copied().unwrap_or(NONE);
    }
    found.files = chosen(found.files, ran);
    found.functions = chosen(found.functions, &wanted);
    found
}

/// The things that are wanted.
fn chosen<T>(things: Vec<T>, wanted: &[bool]) -> Vec<T> {
    let pairs = things.into_iter().zip(wanted);
    pairs
        .filter_map(|(thing, wanted)| wanted.then_some(thing))
        .collect()
}

/// The new number of each thing when only the wanted ones are kept: `NONE` of the others.
fn renumbered(wanted: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let number = |wanted: &bool| {
        next += u32::from(*wanted);
        if *wanted { next - 1 } else { NONE }
    };
    wanted.iter().map(number).collect()
}

/// What of a stretch is outside of others, which are sorted.
fn gaps(others: &[(u64, u64)], begin: u64, end: u64) -> Vec<(u64, u64)> {
    let (mut found, mut at) = (Vec::new(), begin);
    // Stretches of functions may be told twice, but none reaches over another's end.
    let first = others.partition_point(|other| other.1 <= begin);
    for (from, to) in &others[first..] {
        if *from >= end {
            break;
        }
        if at < *from {
            found.push((at, *from));
        }
        at = at.max(*to);
    }
    if at < end {
        found.push((at, end));
    }
    found
}
