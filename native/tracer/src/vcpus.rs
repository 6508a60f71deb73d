// SPDX-License-Identifier: GPL-2.0-or-later
//! What each vCPU has of its own.

/// One for each vCPU, of which the one that runs is at hand.
pub struct Vcpus<T> {
    pub current: T,
    /// Those that do not run now, by vCPU; none in the place of the one that does.
    waiting: Vec<Option<T>>,
    running: usize,
}

impl<T> Vcpus<T> {
    /// So many of them; the vCPU 0 runs.
    pub fn new(count: usize, make: impl Fn() -> T) -> Self {
        let others = (1..count).map(|_| Some(make()));
        Self {
            current: make(),
            waiting: std::iter::once(None).chain(others).collect(),
            running: 0,
        }
    }

    /// From now on, this vCPU runs.
    pub fn run_on(&mut self, vcpu: usize) {
        if let Some(next) = self.waiting.get_mut(vcpu).and_then(Option::take) {
            self.waiting[self.running] = Some(std::mem::replace(&mut self.current, next));
            self.running = vcpu;
        }
    }

    /// Of all vCPUs.
    pub fn all(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.current).chain(self.waiting.iter_mut().flatten())
    }
}
