// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading a TOML table key by key, with errors that name the key and what is allowed.

use std::fmt;
use std::ops::RangeInclusive;

use toml::{Table, Value};

/// Why a CPU model was refused: the key (empty for the whole file) and one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// Dotted key, such as `l1i.ways`.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl ModelError {
    pub(super) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for ModelError {}

/// One table of the file. Every key is taken out when it is read, so what is left is unknown.
pub(super) struct Fields {
    path: String,
    table: Table,
}

impl Fields {
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let table = text.parse::<Table>().map_err(|error| {
            let line = error
                .span()
                .map_or(1, |at| 1 + text[..at.start].matches('\n').count());
            ModelError::new(
                "",
                format!("no valid TOML in line {line}: {}", error.message()),
            )
        })?;
        Ok(Self {
            path: String::new(),
            table,
        })
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    pub fn error(&self, name: &str, message: impl Into<String>) -> ModelError {
        ModelError::new(self.key(name), message)
    }

    /// Whether the key is there and was not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    fn take(&mut self, name: &str) -> Result<Value, ModelError> {
        self.table
            .remove(name)
            .ok_or_else(|| self.error(name, "is missing"))
    }

    pub fn section(&mut self, name: &str) -> Result<Self, ModelError> {
        match self.take(name)? {
            Value::Table(table) => Ok(Self {
                path: self.key(name),
                table,
            }),
            _ => Err(self.error(name, "must be a table")),
        }
    }

    /// Leaves a table to others that read this file.
    pub fn skip(&mut self, name: &str) {
        self.table.remove(name);
    }

    pub fn text(&mut self, name: &str) -> Result<String, ModelError> {
        match self.take(name)? {
            Value::String(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.error(name, "must be a text that is not empty")),
        }
    }

    pub fn integer(
        &mut self,
        name: &str,
        allowed: RangeInclusive<usize>,
    ) -> Result<usize, ModelError> {
        let value = self.take(name)?;
        let number = value
            .as_integer()
            .and_then(|number| usize::try_from(number).ok());
        number
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| {
                let (from, to) = (allowed.start(), allowed.end());
                self.error(
                    name,
                    format!("must be an integer from {from} to {to}, not {value}"),
                )
            })
    }

    pub fn power_of_two(
        &mut self,
        name: &str,
        allowed: RangeInclusive<usize>,
    ) -> Result<usize, ModelError> {
        let number = self.integer(name, allowed)?;
        if number.is_power_of_two() {
            return Ok(number);
        }
        Err(self.error(name, format!("must be a power of two, not {number}")))
    }

    pub fn number(&mut self, name: &str, allowed: RangeInclusive<f64>) -> Result<f64, ModelError> {
        let value = self.take(name)?;
        let number = value
            .as_float()
            .or_else(|| value.as_integer().map(|whole| whole as f64));
        number
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| {
                let (from, to) = (allowed.start(), allowed.end());
                self.error(
                    name,
                    format!("must be a number from {from} to {to}, not {value}"),
                )
            })
    }

    /// The same, and zero when the key is not there.
    pub fn number_or_zero(
        &mut self,
        name: &str,
        allowed: RangeInclusive<f64>,
    ) -> Result<f64, ModelError> {
        match self.has(name) {
            true => self.number(name, allowed),
            false => Ok(0.0),
        }
    }

    /// One of `choices`; the first one when the key is not there and `optional`.
    pub fn choice<T: Copy>(
        &mut self,
        name: &str,
        choices: &[(&str, T)],
        optional: bool,
    ) -> Result<T, ModelError> {
        if optional && !self.has(name) {
            return Ok(choices[0].1);
        }
        let value = self.take(name)?;
        let chosen = value
            .as_str()
            .and_then(|text| choices.iter().find(|(word, _)| *word == text));
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<_> = choices
                .iter()
                .map(|(word, _)| format!("\"{word}\""))
                .collect();
            self.error(name, format!("must be {}, not {value}", words.join(" or ")))
        })
    }

    /// `entries` in `ways` must make a power of two of sets; key: which of the two is blamed.
    pub fn check_sets(&self, key: &str, entries: usize, ways: usize) -> Result<(), ModelError> {
        if entries.is_multiple_of(ways) && (entries / ways).is_power_of_two() {
            return Ok(());
        }
        let message = format!("{entries} entries in {ways} ways must make 1, 2, 4, 8 … sets");
        Err(self.error(key, message))
    }

    /// Refuses keys that nobody asked for: they are misspelt.
    pub fn end(self) -> Result<(), ModelError> {
        match self.table.keys().next() {
            None => Ok(()),
            Some(name) => Err(self.error(name, "is not a key of a CPU model")),
        }
    }
}
