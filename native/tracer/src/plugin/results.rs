// SPDX-License-Identifier: GPL-2.0-or-later
//! The files that a run ends with.

use kernsmith_frontend::Counters;
use kernsmith_trace::Facts;

use super::Tracer;
use crate::difference;
use crate::engine::Engine;
use crate::output;
use crate::page_reader::PageReader;

impl Tracer {
    /// User mode's and kernel mode's counters.
    fn counters(&self, engine: &Engine) -> [Counters; 2] {
        let mut counters = engine.counters();
        for (mode, counters) in counters.iter_mut().enumerate() {
            (counters.rep_iterations, counters.rep_bytes) = self.instrumentation.iterations(mode);
        }
        counters
    }

    pub(super) fn write(&mut self, engine: &mut Engine) -> Result<(), String> {
        let counters = self.counters(engine);
        let [user, kernel] = counters;
        if self.options.exact {
            difference::tell(&counters, &self.instrumentation, engine);
        }
        if let Some(path) = &self.options.profile {
            output::write_whole(path, engine.profile_text())?;
        }
        if let (Some(path), Some(memory)) = (&self.options.memory, self.memory.take()) {
            memory.end(path)?;
        }
        if let (Some(path), Some(values)) = (&self.options.values, self.values.take()) {
            values.end(path)?;
        }
        let facts = Facts {
            tag: self.options.tag.clone(),
            cpu: self.model.name.clone(),
            architecture: self.architecture.qemu_target().to_owned(),
            pages: self
                .pages
                .as_ref()
                .map(PageReader::map)
                .cloned()
                .unwrap_or_default(),
            counters,
        };
        engine
            .finish_trace(&facts)
            .map_err(|error| format!("cannot write the trace: {error}"))?;
        let counted = if self.options.user {
            user + kernel
        } else {
            kernel
        };
        let (in_user, in_kernel) = (user.instructions, kernel.instructions);
        let [user_data, kernel_data] = engine.data_counters();
        let data = self.options.data.then(|| match self.options.user {
            true => user_data + kernel_data,
            false => kernel_data,
        });
        let json = output::counters_json(&self.model, in_user, in_kernel, &counted, data.as_ref());
        output::write_whole(&self.options.out, json)
    }
}
