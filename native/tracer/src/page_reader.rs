// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the guest's page tables: in pages of which sizes the kernel's code and data are mapped.

use kernsmith_arch::{Architecture, PageMap, Vcpu};

use crate::ffi::{self, Tb};
use crate::vcpu::Access;

/// Keeps the map of the kernel's code.
pub struct PageReader {
    architecture: &'static dyn Architecture,
    access: Access,
    /// What the registers held that say where the tables are.
    registers: Option<Vec<u64>>,
    map: PageMap,
}

impl PageReader {
    /// Looks the registers up. `None` when QEMU does not offer one of them. To be called from a
    /// callback of the vCPU.
    pub fn find(architecture: &'static dyn Architecture) -> Option<Self> {
        let access = Access::find(architecture.page_registers())?;
        Some(Self {
            architecture,
            access,
            registers: None,
            map: PageMap::default(),
        })
    }

    /// The map as it was read last.
    pub fn map(&self) -> &PageMap {
        &self.map
    }

    /// Finds the tables and reads them; `None` when that is not possible. To be called from a
    /// callback that reads registers, when the guest runs a program.
    pub fn locate(&mut self) -> Option<&PageMap> {
        self.registers = self.access.all_registers();
        self.read()?;
        Some(&self.map)
    }

    /// Reads the tables again when a block of `count` instructions is not in the map that is about
    /// to be executed, and returns the map if it is another one now.
    ///
    /// # Safety
    ///
    /// `tb` is being translated.
    pub unsafe fn meet(&mut self, tb: *const Tb, count: usize) -> Option<&PageMap> {
        let last = count.checked_sub(1)?;
        // SAFETY: promised by the caller.
        let (start, end) = unsafe {
            let [first, last] = [0, last].map(|number| ffi::qemu_plugin_tb_get_insn(tb, number));
            let size = ffi::qemu_plugin_insn_size(last) as u64;
            let end = ffi::qemu_plugin_insn_vaddr(last).wrapping_add(size);
            (ffi::qemu_plugin_insn_vaddr(first), end)
        };
        let is_known = |address| self.map.run(address).is_some();
        let is_kernel = self.architecture.address_space().is_kernel(start);
        if !is_kernel || (is_known(start) && is_known(end.wrapping_sub(1))) {
            return None;
        }
        let before = self.map.clone();
        self.read()?;
        (self.map != before).then_some(&self.map)
    }

    /// The kernel's large pages as they are now; `None` when the tables cannot be read. To be called
    /// after [`Self::locate`].
    pub fn data(&mut self) -> Option<PageMap> {
        let access = &mut self.access;
        let mut memory = |address, words: &mut [u64]| access.memory(address, words);
        let registers = self.registers.as_ref()?;
        self.architecture.data_pages(registers, &mut memory)
    }

    fn read(&mut self) -> Option<()> {
        let access = &mut self.access;
        let mut memory = |address, words: &mut [u64]| access.memory(address, words);
        let registers = self.registers.as_ref()?;
        self.map = self.architecture.code_pages(registers, &mut memory)?;
        Some(())
    }
}
