//! Reads shared objects, and the mappings of each process.

use super::Contents;
use crate::format::heap_events::read_heap_events;
use crate::format::pages::read_pages;
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::{mappings, shared_object};
use crate::model::address_space::{MAX_OBJECTS, Mapping};
use crate::model::cpu::OnCpu;
use crate::model::lasting_call::LastingCall;

impl Contents {
    pub(super) fn take_shared_object(
        &mut self,
        object: shared_object::Reader<'_>,
    ) -> Result<(), Violation> {
        if self.shared_objects.len() == MAX_OBJECTS as usize {
            return Err(Rule::Mappings.broken(format!("more than {MAX_OBJECTS} shared objects")));
        }
        self.shared_objects.push(object.get_name()?.to_string()?);
        Ok(())
    }

    pub(super) fn take_mappings(&mut self, entry: mappings::Reader<'_>) -> Result<(), Violation> {
        let process_id = entry.get_process_id();
        for mapping in entry.get_all()? {
            let mapping = Mapping {
                process_id,
                since: mapping.get_since(),
                start: mapping.get_start(),
                end: mapping.get_end(),
                object: mapping.get_object().checked_sub(1),
                offset: mapping.get_offset(),
            };
            let checked = mapping.check(self.shared_objects.len() as u32);
            checked.map_err(|detail| Rule::Mappings.broken(detail))?;
            self.mappings.push(mapping);
        }
        let pages = read_pages(self.decoder.decompressor(), entry)?;
        for page in &pages {
            let checked = page.check();
            checked.map_err(|detail| Rule::Mappings.broken(detail))?;
        }
        self.pages.extend(pages);
        let cpus = entry.get_cpus()?.iter();
        self.cpus.extend(cpus.map(|on| OnCpu {
            process_id,
            os_thread_id: on.get_os_thread_id(),
            since: on.get_since(),
            cpu: on.get_cpu(),
        }));
        for name in entry.get_allocators()? {
            self.allocators.push(name?.to_string()?);
        }
        let named = self.allocators.len();
        let events = read_heap_events(self.decoder.decompressor(), entry, named)?;
        self.heap_events.extend(events);
        let calls = entry.get_lasting_calls()?.iter();
        self.lasting_calls.extend(calls.map(|call| LastingCall {
            process_id,
            number: call.get_number(),
            arguments: [call.get_first(), call.get_second()],
        }));
        Ok(())
    }
}
