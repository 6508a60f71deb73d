// SPDX-License-Identifier: GPL-2.0-or-later
//! A counter for each function's entry: 64 bits in `.data`, by the name `kernsmith_entry.FUNCTION`.
//!
//! It is added to where a function begins, behind the mark of an indirect branch's target if there
//! is one: there no flags are to be kept (System V ABI for x86-64, section 3.2.1). Several
//! processors that enter at once may be counted as one.

use super::text::{Kind, lines};

const MARK: &str = "endbr64";

/// The text with counters.
pub fn counted(text: &str) -> String {
    let mut with = String::with_capacity(text.len() * 5 / 4);
    let mut functions: Vec<&str> = Vec::new();
    let mut entered = false;
    for line in lines(text) {
        // What a compiler put away of a function is entered by a jump, flags and all.
        if line.kind == Kind::Entry && !line.function.contains(".cold") {
            entered = true;
        }
        let is_code = matches!(line.kind, Kind::Instruction(_)) || line.text.trim() == "#APP";
        let marked = line.kind == Kind::Instruction(MARK);
        if entered && is_code && !marked {
            let name = line.function;
            with.push_str(&format!("\tincq\t\"kernsmith_entry.{name}\"(%rip)\n"));
            functions.push(name);
            entered = false;
        }
        with.push_str(line.text);
        with.push('\n');
    }
    if !functions.is_empty() {
        with.push_str("\t.section\t.data,\"aw\",@progbits\n\t.p2align\t3\n");
    }
    for name in functions {
        let symbol = format!("\"kernsmith_entry.{name}\"");
        with.push_str(&format!(
            "\t.type\t{symbol},@object\n{symbol}:\n\t.quad\t0\n\t.size\t{symbol}, 8\n"
        ));
    }
    with
}

#[cfg(test)]
mod tests {
    use super::super::text::{CLANG, GCC};
    use super::*;

    fn before_counter(text: &str) -> Vec<String> {
        let with = counted(text);
        let all: Vec<&str> = with.lines().collect();
        let pairs = all.windows(2).filter(|pair| pair[1].contains("incq"));
        pairs.map(|pair| pair[0].trim().to_string()).collect()
    }

    #[test]
    fn a_function_counts_before_its_first_instruction() {
        assert_eq!(before_counter(CLANG), ["# %bb.0:"]);
        assert_eq!(before_counter(GCC), ["endbr64"]);
    }

    #[test]
    fn each_counter_is_defined_once() {
        let text = counted(GCC);
        assert!(text.contains("\n\"kernsmith_entry.g\":\n\t.quad\t0\n"));
        assert!(!text.contains("cold\":"));
        assert_eq!(
            counted("\t.data\nx:\n\t.quad 1\n"),
            "\t.data\nx:\n\t.quad 1\n"
        );
    }
}
