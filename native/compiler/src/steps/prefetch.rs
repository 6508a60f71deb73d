// SPDX-License-Identifier: GPL-2.0-or-later
//! Removal of prefetches: what they are worth, or cost.
//!
//! In a programmer's own assembly, too: the kernel's are alternatives, of which each is a line.

/// The text without them.
pub fn without(text: &str) -> String {
    let is_kept = |line: &&str| {
        let line = line.trim();
        !line.starts_with("prefetch") || line.contains(';')
    };
    let kept = text.lines().filter(is_kept);
    kept.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::text::CLANG;
    use super::*;

    #[test]
    fn prefetches_and_nothing_else_are_gone() {
        let gone: Vec<&str> = CLANG
            .lines()
            .filter(|line| line.trim().starts_with("prefetch"))
            .collect();
        assert_eq!(gone.len(), 2);
        let text = without(CLANG);
        assert!(!text.contains("prefetch"));
        assert_eq!(text.lines().count() + 2, CLANG.lines().count());
        assert!(without("\tprefetchw (%rax); call f\n").contains("call"));
    }
}
