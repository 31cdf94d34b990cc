//! Kernel state of processes: shared objects, mappings, pages, CPUs, signal handlers, and system
//! calls with lasting effects.

use super::{Writer, unrecordable};
use crate::model::address_space::{MAX_OBJECTS, Mapping};
use crate::model::cpu::OnCpu;
use crate::model::error::Error;
use crate::model::lasting_call::LastingCall;
use crate::model::page::Page;
use crate::write::sink::NewEntry;

/// Maximum number of mappings in one entry, and of pending mappings.
const MAPPINGS_AT_ONCE: usize = 1 << 12;

/// Maximum number of pages in one entry, and of pending pages.
const PAGES_AT_ONCE: usize = 1 << 14;

impl Writer {
    /// Adds memory that several processes can share, with a name for people; returns its index.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there are [`MAX_OBJECTS`] already; [`Error::Write`].
    pub fn shared_object(&mut self, name: &str) -> Result<u32, Error> {
        if self.objects == MAX_OBJECTS {
            return unrecordable(format!("more than {MAX_OBJECTS} shared objects"));
        }
        self.sink.write(NewEntry::SharedObject(name.into()))?;
        self.objects += 1;
        Ok(self.objects - 1)
    }

    /// Records mappings of processes; addresses without a mapping are private memory. Only
    /// meaningful if the header declares address spaces.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] for a mapping that does not cover whole pages, or of an object that
    /// does not exist; [`Error::Write`].
    pub fn mappings(&mut self, mappings: &[Mapping]) -> Result<(), Error> {
        for mapping in mappings {
            mapping.check(self.objects)?;
        }
        self.new_mappings.extend_from_slice(mappings);
        match self.new_mappings.len() < MAPPINGS_AT_ONCE {
            true => Ok(()),
            false => self.write_mappings(),
        }
    }

    /// Records physical locations of pages. Only meaningful in the trace of a machine.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] for an impossible page; [`Error::Write`].
    pub fn pages(&mut self, pages: &[Page]) -> Result<(), Error> {
        for page in pages {
            page.check()?;
        }
        self.new_pages.extend_from_slice(pages);
        match self.new_pages.len() < PAGES_AT_ONCE {
            true => Ok(()),
            false => self.write_mappings(),
        }
    }

    /// Records the CPUs that threads run on.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn cpus(&mut self, cpus: &[OnCpu]) -> Result<(), Error> {
        self.new_cpus.extend_from_slice(cpus);
        match self.new_cpus.len() < MAPPINGS_AT_ONCE {
            true => Ok(()),
            false => self.write_mappings(),
        }
    }

    /// Records the guest address of a signal handler that the server has installed.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn signal_handler(&mut self, address: u64) -> Result<(), Error> {
        self.sink.write(NewEntry::SignalHandler(address))
    }

    /// Records a system call that changes how the kernel treats a process or a thread from then on.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn lasting_call(&mut self, call: LastingCall) -> Result<(), Error> {
        self.sink.write(NewEntry::LastingCall(call))
    }

    /// Writes the pending mappings, CPUs and pages; consecutive ones of a process form one entry.
    pub(super) fn write_mappings(&mut self) -> Result<(), Error> {
        let mappings = std::mem::take(&mut self.new_mappings);
        for of_process in mappings.chunk_by(|one, next| one.process_id == next.process_id) {
            for some in of_process.chunks(MAPPINGS_AT_ONCE) {
                self.sink.write(NewEntry::Mappings(some.to_vec()))?;
            }
        }
        let cpus = std::mem::take(&mut self.new_cpus);
        for of_process in cpus.chunk_by(|one, next| one.process_id == next.process_id) {
            self.sink.write(NewEntry::Cpus(of_process.to_vec()))?;
        }
        self.write_heap_events()?;
        self.write_pages()
    }

    /// Writes the pending pages, sorted by number: adjacent pages cost little. Only the order among
    /// entries of the same page matters, and the stable sort keeps it.
    fn write_pages(&mut self) -> Result<(), Error> {
        let mut pages = std::mem::take(&mut self.new_pages);
        for page in pages.iter_mut().filter(|page| page.is_of_upper_half()) {
            page.process_id = 0;
        }
        pages.sort_by_key(|page| (page.process_id, page.number));
        for of_process in pages.chunk_by(|one, next| one.process_id == next.process_id) {
            for some in of_process.chunks(PAGES_AT_ONCE) {
                self.sink.write(NewEntry::Pages(some.to_vec()))?;
            }
        }
        Ok(())
    }
}
