// SPDX-License-Identifier: GPL-2.0-or-later
//! Files and functions as the debug information names them, each once.

use std::collections::HashMap;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, LineProgramHeader, Unit, UnitSectionOffset,
    constants as dw,
};

use super::{Function, NONE, Slice};

/// From a copy of a function to its declaration there are at most so many steps.
const MOST_STEPS: usize = 8;

/// A unit, with the numbers of the files of its line table.
#[derive(Debug)]
pub struct OneUnit<'a> {
    pub unit: Unit<Slice<'a>>,
    files: Vec<u32>,
    /// The line table's numbers begin at 1 before DWARF 5.
    first: u64,
}

impl OneUnit<'_> {
    /// The file that has a number in the unit's line table.
    pub fn file(&self, number: u64) -> u32 {
        let at = number.checked_sub(self.first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.files.get(at))
            .copied()
            .unwrap_or(NONE)
    }
}

/// All units and names of a file.
#[derive(Debug)]
pub struct Names<'a> {
    pub units: Vec<OneUnit<'a>>,
    pub files: Vec<String>,
    pub functions: Vec<Function>,
    numbers: HashMap<(String, u32, u32), u32>,
    known: HashMap<UnitSectionOffset, u32>,
}

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

impl<'a> Names<'a> {
    /// Reads units and their tables of files.
    pub fn read(dwarf: &Dwarf<Slice<'a>>) -> gimli::Result<Self> {
        let mut files = Vec::new();
        let mut numbers = HashMap::new();
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            let unit = dwarf.unit(header)?;
            let mut own = Vec::new();
            let mut first = 0;
            if let Some(program) = &unit.line_program {
                let header = program.header();
                first = u64::from(header.version() < 5);
                for name in file_names(dwarf, &unit, header) {
                    let next = files.len() as u32;
                    let number = *numbers.entry(name.clone()).or_insert(next);
                    if number == next {
                        files.push(name);
                    }
                    own.push(number);
                }
            }
            units.push(OneUnit {
                unit,
                files: own,
                first,
            });
        }
        Ok(Self {
            units,
            files,
            functions: Vec::new(),
            numbers: HashMap::new(),
            known: HashMap::new(),
        })
    }

    /// The number of the function that an entry of a unit is about.
    pub fn function(&mut self, dwarf: &Dwarf<Slice<'a>>, unit: usize, entry: &Entry<'a>) -> u32 {
        let at = entry
            .offset()
            .to_unit_section_offset(&self.units[unit].unit);
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let (name, file, line) = self.describe(dwarf, unit, entry);
        let number = self.number(name, file, line);
        self.known.insert(at, number);
        number
    }

    /// The number of a function or a symbol.
    pub fn number(&mut self, name: String, file: u32, line: u32) -> u32 {
        let next = self.functions.len() as u32;
        let number = self
            .numbers
            .entry((name.clone(), file, line))
            .or_insert(next);
        if *number == next {
            self.functions.push(Function {
                name,
                file,
                line,
                entered: 0,
                executed: 0,
            });
        }
        *number
    }

    /// Name, file and line, each from the first of the entries behind it that has it.
    fn describe(
        &self,
        dwarf: &Dwarf<Slice<'a>>,
        unit: usize,
        entry: &Entry<'a>,
    ) -> (String, u32, u32) {
        let (mut name, mut file, mut line) = (None, None, None);
        let (mut unit, mut entry) = (unit, entry.clone());
        for _ in 0..MOST_STEPS {
            let own = &self.units[unit];
            if let Some(value) = entry.attr_value(dw::DW_AT_name) {
                name = name.or_else(|| text(dwarf, &own.unit, value));
            }
            if let Some(AttributeValue::FileIndex(number)) = entry.attr_value(dw::DW_AT_decl_file) {
                file = file.or_else(|| Some(own.file(number)));
            }
            let number = entry.attr_value(dw::DW_AT_decl_line);
            line = line.or_else(|| number.and_then(|number| number.udata_value()));
            let Some((next, origin)) = self.origin(unit, &entry) else {
                break;
            };
            (unit, entry) = (next, origin);
        }
        let line = line.and_then(|line| u32::try_from(line).ok());
        (
            name.unwrap_or_else(|| "?".to_owned()),
            file.unwrap_or(NONE),
            line.unwrap_or_default(),
        )
    }

    /// The entry that this one is a copy of, and its unit.
    fn origin(&self, unit: usize, entry: &Entry<'a>) -> Option<(usize, Entry<'a>)> {
        let link = [dw::DW_AT_abstract_origin, dw::DW_AT_specification];
        let link = link.iter().find_map(|name| entry.attr_value(*name))?;
        let (unit, offset) = match link {
            AttributeValue::UnitRef(offset) => (unit, offset),
            AttributeValue::DebugInfoRef(at) => {
                let start = |one: &OneUnit<'_>| one.unit.header.debug_info_offset();
                let next = self.units.partition_point(|one| start(one) <= Some(at));
                let unit = next.checked_sub(1)?;
                (unit, at.to_unit_offset(&self.units[unit].unit.header)?)
            }
            _ => return None,
        };
        Some((unit, self.units[unit].unit.entry(offset).ok()?))
    }
}

fn file_names<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    header: &LineProgramHeader<Slice<'a>>,
) -> Vec<String> {
    let told = |value| text(dwarf, unit, value).unwrap_or_default();
    let build = unit
        .comp_dir
        .map(|name| name.to_string_lossy().into_owned());
    let build = build.unwrap_or_default();
    let whole = |file: &gimli::FileEntry<Slice<'a>>| {
        let folder = file.directory(header).map(told).unwrap_or_default();
        plain(&[&build, &folder, &told(file.path_name())])
    };
    header.file_names().iter().map(whole).collect()
}

fn text<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    value: AttributeValue<Slice<'a>>,
) -> Option<String> {
    let found = dwarf.attr_string(unit, value).ok()?;
    Some(found.to_string_lossy().into_owned())
}

/// A path of parts, of which a later one may be absolute; without `.`, and without `..` where there
/// is something before it.
fn plain(parts: &[&str]) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut root = "";
    for part in parts {
        if part.starts_with('/') {
            words.clear();
            root = "/";
        }
        for word in part.split('/') {
            match word {
                "" | "." => {}
                ".." if words.last().is_some_and(|last| *last != "..") => {
                    words.pop();
                }
                word => words.push(word),
            }
        }
    }
    format!("{root}{}", words.join("/"))
}
