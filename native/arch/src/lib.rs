// SPDX-License-Identifier: GPL-2.0-or-later
//! What depends on the processor's architecture, behind one trait: [`Architecture`].

mod operation;
mod pages;
mod x86_64;

use std::ffi::CStr;
use std::fmt::Debug;

pub use operation::{CARRIED, Operation};
pub use pages::{Page, PageMap, Run, SMALL};
pub use x86_64::X86_64;

/// All that can be traced.
pub static ALL: [&dyn Architecture; 1] = [&X86_64];

/// An architecture, and how Linux uses it.
///
/// A new one is a type beside [`X86_64`], an entry in [`ALL`], and brings:
///
/// * the word that QEMU has for it ([`qemu_target`](Self::qemu_target)), by which it is found;
/// * where in the address space the kernel lies ([`address_space`](Self::address_space)): of an
///   address alone it must be clear whether it is the kernel's;
/// * what an instruction does to the flow of control ([`terminator`](Self::terminator)), which has
///   to be right for every instruction that a compiler or the kernel's own assembly contains;
/// * which registers it reads and writes ([`operation`](Self::operation)), and how long it takes;
/// * the instruction that marks the region of interest ([`marker`](Self::marker)): one that does
///   nothing, needs no privilege, and that no compiler makes. The guest's programs execute it;
/// * the instructions that wait for an interrupt ([`halts`](Self::halts));
/// * how an interrupted program is found: code that handlers of interrupts and exceptions begin
///   with ([`is_exception_entry`](Self::is_exception_entry)), and where the program goes on when
///   one begins ([`frame`](Self::frame)), be that on the stack or in registers;
/// * in pages of which sizes the kernel's code is mapped: what the page tables say
///   ([`code_pages`](Self::code_pages), [`data_pages`](Self::data_pages)), and what Linux makes of an image that was not booted
///   ([`image_pages`](Self::image_pages)).
///
/// Everything is a function of its arguments; nothing here knows of QEMU but by name.
pub trait Architecture: Debug + Sync {
    /// The architecture as QEMU calls it: `TARGET_NAME`, which is in `qemu-system-TARGET_NAME`, and
    /// which plugins are told as `qemu_info_t.target_name`.
    fn qemu_target(&self) -> &'static str;

    /// Which addresses are the kernel's.
    fn address_space(&self) -> AddressSpace;

    /// Decodes one whole instruction at `pc`.
    fn terminator(&self, pc: u64, instruction: &[u8]) -> Terminator;

    /// What one whole instruction waits for, and what waits for it.
    fn operation(&self, instruction: &[u8]) -> Operation;

    /// Bytes of a mark: instructions of another size need not be looked at.
    fn marker_bytes(&self) -> usize;

    /// The mark that an instruction is, if it is one.
    fn marker(&self, instruction: &[u8]) -> Option<Marker>;

    /// Whether an instruction stops the processor until an interrupt comes.
    fn halts(&self, instruction: &[u8]) -> bool;

    /// Whether kernel code that begins with these instructions is where interrupts and
    /// exceptions arrive. It may say so of other code as well, as long as [`frame`](Self::frame)
    /// does not mistake what it finds there. `next_byte` is what follows them in memory.
    fn is_exception_entry(
        &self,
        first_instructions: &[&[u8]],
        next_byte: &mut dyn FnMut() -> Option<u8>,
    ) -> bool;

    /// The registers that [`frame`](Self::frame) reads, by their names in QEMU's descriptions for
    /// GDB; each has 64 bits.
    fn frame_registers(&self) -> &'static [&'static CStr];

    /// The registers in which the kernel's functions take their first three arguments, by their
    /// names in QEMU's descriptions for GDB; each has 64 bits.
    fn argument_registers(&self) -> [&'static CStr; 3];

    /// The program that was interrupted, when the first block of a handler is entered; `None` when
    /// it is no handler after all.
    fn frame(&self, vcpu: &mut dyn Vcpu) -> Option<Frame>;

    /// The registers that say where the page tables are, by their names in QEMU's descriptions
    /// for GDB; each has 64 bits.
    fn page_registers(&self) -> &'static [&'static CStr];

    /// The pages of all code of the kernel and its modules, as the page tables have them.
    /// `registers`: what those of [`page_registers`](Self::page_registers) held at any time since
    /// the kernel runs programs: the kernel's part of the tables is everybody's. `memory`: see
    /// [`Vcpu::memory`].
    ///
    /// `None` when the tables cannot be read, or not all of them.
    fn code_pages(
        &self,
        registers: &[u64],
        memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
    ) -> Option<PageMap>;

    /// Where the kernel's half of the address space is mapped in pages larger than [`SMALL`],
    /// whatever is there: data lie in these pages, all others in small ones. Arguments and `None`
    /// are those of [`code_pages`](Self::code_pages).
    fn data_pages(
        &self,
        registers: &[u64],
        memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
    ) -> Option<PageMap>;

    /// The pages of the kernel's own text by the rule that the kernel follows when it has booted:
    /// of an image whose text goes from `start` to `end` (the address behind it).
    fn image_pages(&self, start: u64, end: u64) -> PageMap;
}

/// The architecture that QEMU calls so.
///
/// # Errors
///
/// One sentence that names what can be traced.
pub fn find(qemu_target: &str) -> Result<&'static dyn Architecture, String> {
    let found = ALL.iter().find(|one| one.qemu_target() == qemu_target);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|one| one.qemu_target()).collect();
        format!(
            "QEMU for {qemu_target} cannot be traced: allowed is QEMU for {}",
            known.join(", ")
        )
    })
}

/// The split of the address space between programs and the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressSpace {
    kernel: u64,
}

impl AddressSpace {
    /// The kernel has all addresses from this one on.
    #[must_use]
    pub const fn with_kernel_from(kernel: u64) -> Self {
        Self { kernel }
    }

    /// Whether the kernel's code, and no program's, can be there.
    #[inline(always)]
    #[must_use]
    pub const fn is_kernel(self, address: u64) -> bool {
        address >= self.kernel
    }
}

/// What the last instruction of a block does to the flow of control. Targets are absolute
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminator {
    /// No branch: the block ended at a page end, at the size limit, or after an instruction that
    /// changes the processor's state. The next instruction follows.
    None,
    Conditional {
        target: u64,
    },
    Jump {
        target: u64,
    },
    Call {
        target: u64,
    },
    IndirectJump,
    IndirectCall,
    Return,
    /// System call and return, interrupt return, software interrupt, far jump: the flow goes
    /// elsewhere, but not as a branch that a compiler placed.
    Far,
    /// A repeated string instruction, one iteration of `bytes` bytes (1, 2, 4 or 8) at a time.
    Repeat {
        bytes: u8,
    },
}

/// What a mark of the region of interest says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// The warm-up begins: simulate, count nothing yet.
    Arm = 1,
    /// The region begins: counters start at zero.
    Begin = 2,
    /// The region ends: counters are final.
    End = 3,
}

impl Marker {
    /// The mark with this number.
    #[must_use]
    pub const fn from_number(number: usize) -> Option<Self> {
        match number {
            1 => Some(Self::Arm),
            2 => Some(Self::Begin),
            3 => Some(Self::End),
            _ => None,
        }
    }
}

/// The processor at the entry of a handler.
pub trait Vcpu {
    /// The register with this place in [`Architecture::frame_registers`].
    fn register(&mut self, place: usize) -> Option<u64>;

    /// Fills `words` with memory from `address` on, in the guest's own order of bytes, and says
    /// whether that was possible. Changes nothing in the guest.
    fn memory(&mut self, address: u64, words: &mut [u64]) -> bool;
}

/// An interrupted program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where it goes on.
    pub resume: u64,
    /// Whether the instruction there was tried and did not complete.
    pub fault: bool,
}
