// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a line of a compiler's assembly stands: gcc's and clang's, in AT&T syntax.

/// What a line is, for who changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// The label that a function begins with.
    Entry,
    /// The label of a block of code.
    Block,
    /// An instruction, by its mnemonic.
    Instruction(&'a str),
    /// Directives, comments, other labels, and all of a programmer's own assembly.
    Other,
}

/// A line with its place. text: without the end of line.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub text: &'a str,
    pub kind: Kind<'a>,
    /// The function that it belongs to; empty outside of all.
    pub function: &'a str,
}

/// All lines of a text with their places.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut place = Place::default();
    text.lines().map(move |line| place.step(line))
}

#[derive(Default)]
struct Place<'a> {
    /// Whether the section holds code.
    code: bool,
    /// Within a programmer's own assembly.
    own: bool,
    /// The name of a function that is declared and has not begun.
    declared: &'a str,
    function: &'a str,
}

impl<'a> Place<'a> {
    fn step(&mut self, text: &'a str) -> Line<'a> {
        let kind = self.kind(text);
        let line = Line {
            text,
            kind,
            function: self.function,
        };
        if line.text.trim_start().starts_with(".size") && self.declares(text) == self.function {
            self.function = "";
        }
        line
    }

    fn kind(&mut self, text: &'a str) -> Kind<'a> {
        let trimmed = text.trim_start();
        match trimmed.trim_end() {
            "#APP" | "# Start of file scope inline assembly" => self.own = true,
            "#NO_APP" | "# End of file scope inline assembly" => self.own = false,
            _ => {}
        }
        if self.own || trimmed.starts_with('#') || trimmed.is_empty() {
            return Kind::Other;
        }
        if !text.starts_with(['\t', ' '])
            && let Some((label, _)) = text.split_once(':')
        {
            return self.label(label.trim_matches('"'));
        }
        if !trimmed.starts_with('.') {
            let mnemonic = trimmed.split_whitespace().next().unwrap_or_default();
            return if self.code && !self.function.is_empty() {
                Kind::Instruction(mnemonic)
            } else {
                Kind::Other
            };
        }
        self.directive(trimmed);
        Kind::Other
    }

    fn label(&mut self, label: &'a str) -> Kind<'a> {
        if self.code && !self.declared.is_empty() && label == self.declared {
            self.function = label;
            self.declared = "";
            return Kind::Entry;
        }
        if self.code && !self.function.is_empty() && is_block(label) {
            return Kind::Block;
        }
        Kind::Other
    }

    fn directive(&mut self, text: &'a str) {
        let name = text.split_whitespace().next().unwrap_or_default();
        match name {
            ".text" => self.code = true,
            ".data" | ".bss" => self.code = false,
            ".section" => {
                let flags = text.split(',').nth(1).unwrap_or_default().trim();
                let named = text.trim_start_matches(".section").trim();
                self.code = flags.contains('x') || flags.is_empty() && named.starts_with(".text");
            }
            ".type" if text.contains("@function") => self.declared = self.declares(text),
            _ => {}
        }
    }

    /// The symbol that a directive is about.
    fn declares(&self, text: &'a str) -> &'a str {
        let rest = text.trim_start().split_once(char::is_whitespace);
        let symbol = rest.and_then(|(_, rest)| rest.split(',').next());
        symbol.unwrap_or_default().trim().trim_matches('"')
    }
}

/// clang's `.LBB12_3`, gcc's `.L34`.
fn is_block(label: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let clang = label
        .strip_prefix(".LBB")
        .and_then(|rest| rest.split_once('_'));
    clang.is_some_and(|(function, block)| digits(function) && digits(block))
        || label.strip_prefix(".L").is_some_and(digits)
}

/// The lines of a clang and of a gcc function, for tests of steps.
#[cfg(test)]
pub const CLANG: &str = "\
\t.file\t\"x.c\"
\t.section\t.text.f,\"ax\",@progbits
\t.globl\tf                               # -- Begin function f
\t.p2align\t4
\t.type\tf,@function
f:                                      # @f
.Lfunc_begin0:
\t.cfi_startproc
# %bb.0:
\tpushq\t%rbx
\tcmpl\t%esi, %edi
\tjge\t.LBB0_2
# %bb.1:
\t#APP
661:
\tprefetcht0 (%rax)
\tje 661b
662:
\t#NO_APP
\tprefetchw\t64(%rdi)
.LBB0_2:
\tpopq\t%rbx
\tretq
.Lfunc_end0:
\t.size\tf, .Lfunc_end0-f
\t.cfi_endproc
\t.section\t.rodata.f,\"a\",@progbits
.LJTI0_0:
\t.long\t.LBB0_2-.LJTI0_0
";

#[cfg(test)]
pub const GCC: &str = "\
\t.text
\t.section\t.text.g,\"ax\",@progbits
\t.type\tg, @function
g:
.LFB1:
\tendbr64
\ttestl\t%edi, %edi
\tje\t.L4
\tjmp\t*.L6(,%rax,8)
\t.section\t.rodata
\t.align 8
.L6:
\t.quad\t.L4
\t.section\t.text.g
.L4:
\tret
.LFE1:
\t.size\tg, .-g
\t.section\t.text.unlikely
\t.type\tg.cold, @function
g.cold:
.L9:
\tjne\t.L4
\t.size\tg.cold, .-g.cold
";

#[cfg(test)]
mod tests {
    use super::*;

    fn of_kind<'a>(text: &'a str, wanted: &str) -> Vec<&'a str> {
        let is = |line: &Line| match line.kind {
            Kind::Entry => wanted == "entry",
            Kind::Block => wanted == "block",
            Kind::Instruction(_) => wanted == "instruction",
            Kind::Other => false,
        };
        lines(text)
            .filter(is)
            .map(|line| line.text.trim())
            .collect()
    }

    #[test]
    fn functions_blocks_and_instructions_are_told_from_the_rest() {
        assert_eq!(of_kind(CLANG, "entry").len(), 1);
        assert_eq!(of_kind(CLANG, "block"), [".LBB0_2:"]);
        let mnemonics = ["pushq", "cmpl", "jge", "prefetchw", "popq", "retq"];
        for (line, mnemonic) in of_kind(CLANG, "instruction").iter().zip(mnemonics) {
            assert!(line.starts_with(mnemonic), "{line}");
        }
        assert_eq!(of_kind(GCC, "entry"), ["g:", "g.cold:"]);
        assert_eq!(of_kind(GCC, "block"), [".L4:", ".L9:"]);
        assert_eq!(of_kind(GCC, "instruction").len(), 6);
    }

    #[test]
    fn every_line_of_a_function_knows_it() {
        let inside: Vec<_> = lines(GCC).filter(|line| line.function == "g").collect();
        assert!(inside.first().is_some_and(|line| line.text == "g:"));
        assert!(
            inside
                .last()
                .is_some_and(|line| line.text.contains(".size"))
        );
    }
}
