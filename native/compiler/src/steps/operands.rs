// SPDX-License-Identifier: GPL-2.0-or-later
//! What an instruction of a compiler's works on, in AT&T syntax: the last operand is what it writes.

/// The names of each register of 64 bits, its own first.
const REGISTERS: [&[&str]; 8] = [
    &["rax", "eax", "ax", "al", "ah"],
    &["rbx", "ebx", "bx", "bl", "bh"],
    &["rcx", "ecx", "cx", "cl", "ch"],
    &["rdx", "edx", "dx", "dl", "dh"],
    &["rsi", "esi", "si", "sil"],
    &["rdi", "edi", "di", "dil"],
    &["rbp", "ebp", "bp", "bpl"],
    &["rsp", "esp", "sp", "spl"],
];

/// An address that is computed of registers and a number: `8(%rdi,%rcx,4)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    pub offset: i64,
    /// As it stands between the parentheses.
    pub registers: &'a str,
}

impl<'a> Address<'a> {
    /// None for what is no address, one of a symbol's, or one by a segment.
    pub fn read(operand: &'a str) -> Option<Self> {
        let (offset, rest) = operand.split_once('(')?;
        let registers = rest.strip_suffix(')')?;
        let offset = match offset {
            "" => 0,
            number => number.parse().ok()?,
        };
        Some(Self { offset, registers })
    }

    /// The base and the index; none where one is no register of 64 bits.
    pub fn parts(&self) -> Option<Vec<&'a str>> {
        let named = self.registers.split(',').take(2).map(str::trim);
        named
            .filter(|name| !name.is_empty())
            .map(|name| {
                let name = name.strip_prefix('%')?;
                (whole(name)? == name).then_some(name)
            })
            .collect()
    }
}

/// What stands behind an instruction's mnemonic, without comments.
pub fn operands(line: &str) -> Vec<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let Some((_, text)) = line.split_once(char::is_whitespace) else {
        return Vec::new();
    };
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found
}

/// The register of 64 bits that a name is a part of: `eax` of `rax`.
pub fn whole(name: &str) -> Option<&str> {
    if let Some(names) = REGISTERS.iter().find(|names| names.contains(&name)) {
        return Some(names[0]);
    }
    let stem = name.strip_suffix(['d', 'w', 'b']).unwrap_or(name);
    let number: u32 = stem.strip_prefix('r')?.parse().ok()?;
    (8..16).contains(&number).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_parted_outside_of_addresses() {
        for (line, expected) in [
            ("\taddl\t(%rdi,%r9,4), %eax", vec!["(%rdi,%r9,4)", "%eax"]),
            (
                "\tandl\t$7, %r8d               # imm = 0x7",
                vec!["$7", "%r8d"],
            ),
            ("\tincq %rdx", vec!["%rdx"]),
            ("\tretq", vec![]),
        ] {
            assert_eq!(operands(line), expected);
        }
    }

    #[test]
    fn addresses_are_of_registers_and_numbers() {
        let read = |text| Address::read(text).and_then(|it| Some((it.offset, it.parts()?)));
        assert_eq!(read("-8(%rdi,%rcx,4)"), Some((-8, vec!["rdi", "rcx"])));
        assert_eq!(read("(%r10)"), Some((0, vec!["r10"])));
        assert_eq!(read("8(,%rax,8)"), Some((8, vec!["rax"])));
        for none in [
            "%eax",
            "$4",
            "table(,%rax,8)",
            "%gs:8(%rax)",
            "8(%eax)",
            "x(%rip)",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_register_has_many_names() {
        for (name, expected) in [
            ("al", "rax"),
            ("edi", "rdi"),
            ("r8d", "r8"),
            ("r15", "r15"),
            ("r10b", "r10"),
        ] {
            assert_eq!(whole(name), Some(expected));
        }
        for none in ["xmm0", "rip", "r16", "r7", "k1"] {
            assert_eq!(whole(none), None);
        }
    }
}
