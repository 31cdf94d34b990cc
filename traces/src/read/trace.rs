//! Opens a trace: reads everything except the executions, and their places in the file.
//!
//! Opening checks the whole file against its checksums, which is fast. After that, only the chunks
//! that a replay reaches are in memory, so a trace may be larger than the memory.

use crate::format::chunk::{Chunk, Decoder};
use crate::model::address_space::{AddressSpaces, Mapping, Owner};
use crate::model::cpu::{Cpus, OnCpu};
use crate::model::error::Error;
use crate::model::heap_event::HeapEvent;
use crate::model::ids::{FunctionId, ThreadId};
use crate::model::lasting_call::LastingCall;
use crate::model::locator::{Index, Locator, PageTables};
use crate::model::page::Page;
use crate::model::program::{CodeBlock, Function, Module, Request};
use crate::model::recording::{EndReason, Header, Note};
use crate::model::requests::Requests;
use crate::model::system_call::SystemCall;
use crate::model::thread::Thread;
use crate::read::contents::{ChunkLocation, Contents};
use crate::read::numbered::Numbered;
use crate::read::reading::{Stop, map, read};
use crate::read::switches::Switches;
use memmap2::Mmap;
use std::path::{Path, PathBuf};

/// How a trace ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The recording was ended normally.
    Finished(EndReason),
    /// The file ends before the recording does.
    Cut {
        /// Everything before this byte of the file is complete and was read.
        offset: u64,
        /// Size in bytes of the incomplete entry that follows.
        left_over_bytes: u64,
    },
}

/// An open trace.
pub struct Trace {
    pub(super) path: PathBuf,
    pub(super) map: Mmap,
    pub(super) contents: Contents,
    pub(super) requests: Requests,
    pub(super) switches: Switches,
    pub(super) numbered: Numbered,
    address_spaces: AddressSpaces,
    page_tables: PageTables,
    cpus: Cpus,
    index: Index,
    header: Header,
    ending: Ending,
}

impl Trace {
    /// Opens a trace and checks every byte of it against its checksums. A truncated trace is opened
    /// up to its last complete chunk: see [`Trace::ending`].
    ///
    /// # Errors
    /// If the file cannot be read, is not a trace, is newer than this build, or is damaged.
    pub fn open(path: &Path) -> Result<Trace, Error> {
        let map = map(path)?;
        let reading = read(path, &map)?;
        let path = path.to_path_buf();
        let mut contents = reading.contents;
        let offset = reading.bytes as u64;
        let damaged = |path, problem| {
            let entry = reading.entries;
            Err(Error::Damaged {
                path,
                entry,
                offset,
                problem,
            })
        };
        let ending = match (reading.stop, &contents.end) {
            (Stop::Broken(violation), _) => return damaged(path, violation.detail),
            (Stop::End, Some(reason)) => Ending::Finished(reason.clone()),
            (Stop::End | Stop::Cut, _) => Ending::Cut {
                offset,
                left_over_bytes: map.len() as u64 - offset,
            },
        };
        let Some(header) = contents.header.clone() else {
            return damaged(path, "the header is missing".into());
        };
        // If stamps are equal, events happen in trace order; a stable sort keeps it.
        contents.heap_events.sort_by_key(|event| event.since);
        let marks: Vec<_> = contents
            .streams
            .iter()
            .map(|stream| &stream.marks[..])
            .collect();
        let requests = Requests::new(&marks);
        let address_spaces = match header.has_address_spaces {
            true => AddressSpaces::new(&contents.threads, &contents.mappings),
            false => AddressSpaces::default(),
        };
        let streams = contents.streams.iter_mut();
        let stamps = streams.map(|stream| std::mem::take(&mut stream.run_stamps));
        let page_tables = PageTables::new(&contents.threads, &contents.pages, &contents.mappings);
        let cpus = Cpus::new(&contents.threads, &contents.cpus);
        let changes = |thread| {
            let own = address_spaces.changes_of(thread);
            own.chain(page_tables.changes())
                .chain(cpus.changes_of(thread))
        };
        let switches = Switches::new(stamps.collect(), changes);
        Ok(Trace {
            path,
            map,
            contents,
            requests,
            switches,
            numbered: Numbered::default(),
            address_spaces,
            page_tables,
            cpus,
            index: Index::Virtual,
            header,
            ending,
        })
    }

    /// Returns the data known when the recording began.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the modules, by index.
    pub fn modules(&self) -> &[Module] {
        &self.contents.modules
    }

    /// Returns the functions whose entries were executed, by index.
    pub fn functions(&self) -> &[Function] {
        &self.contents.functions
    }

    /// Returns the code blocks, by index.
    pub fn code_blocks(&self) -> &[CodeBlock] {
        &self.contents.code_blocks
    }

    /// Returns whether the trace contains the sources of addresses. Imported traces and older
    /// recordings do not.
    pub fn has_dependences(&self) -> bool {
        let mut blocks = self.code_blocks().iter();
        blocks.any(|block| !block.dependences.is_empty())
    }

    /// Returns whether the trace contains pointers, which reveal registers through which code
    /// accesses memory. Imported traces and older recordings do not.
    pub fn has_pointers(&self) -> bool {
        let mut blocks = self.code_blocks().iter();
        blocks.any(|block| !block.pointers.is_empty())
    }

    /// Returns for each code block the function whose entry it starts at, if any.
    pub fn entered_functions(&self) -> &[Option<FunctionId>] {
        &self.contents.entered
    }

    /// Returns the threads, by index.
    pub fn threads(&self) -> &[Thread] {
        &self.contents.threads
    }

    /// Returns the requests, in the order in which a replay reaches them.
    pub fn requests(&self) -> &[Request] {
        &self.requests.all
    }

    /// Returns the user's notes, in the order in which they were made.
    pub fn notes(&self) -> &[Note] {
        &self.contents.notes
    }

    /// Returns the names of shared objects, by index.
    pub fn shared_objects(&self) -> &[String] {
        &self.contents.shared_objects
    }

    /// Returns the mappings of processes; other addresses are private memory.
    pub fn mappings(&self) -> &[Mapping] {
        &self.contents.mappings
    }

    /// Returns the physical locations of pages, in file order; empty unless the trace is of a
    /// machine.
    pub fn pages(&self) -> &[Page] {
        &self.contents.pages
    }

    /// Returns the CPUs that threads run on, in file order.
    pub fn cpus(&self) -> &[OnCpu] {
        &self.contents.cpus
    }

    /// Returns the CPU of a thread in its run with this stamp; `None` if the trace does not contain
    /// it.
    #[must_use]
    pub fn cpu(&self, thread: ThreadId, stamp: u64) -> Option<u16> {
        self.cpus.of(thread, stamp)
    }

    /// Selects the addresses that readers receive; the default is virtual addresses. Addresses of
    /// pages that are not in [`Trace::pages`] stay virtual.
    pub fn index_by(&mut self, index: Index) {
        self.index = index;
    }

    /// Returns the kind of addresses that readers receive.
    #[must_use]
    pub fn index(&self) -> Index {
        self.index
    }

    /// Returns the physical page number of a thread's page at an address, in its run with this
    /// stamp. The address is one that readers receive with virtual addresses, of a process's
    /// private memory. `None` if the page has no recorded location.
    pub fn frame(&self, thread: ThreadId, stamp: u64, address: u64) -> Option<u64> {
        let (_, address) = self.owner(address);
        self.page_tables.of_thread(thread, stamp, address)
    }

    /// Returns a locator; `None` if addresses need not be located.
    pub(super) fn locator(&self) -> Option<Locator<'_>> {
        Locator::new(self.index, &self.address_spaces, &self.page_tables)
    }

    /// Returns the guest addresses of the signal handlers that the server has installed, ascending.
    /// Empty for imported traces and for traces before version 4.
    pub fn signal_handlers(&self) -> Vec<u64> {
        let mut addresses: Vec<u64> = self.contents.signal_handlers.iter().copied().collect();
        addresses.sort_unstable();
        addresses
    }

    /// Returns system calls that change how the kernel treats a process or a thread from then on,
    /// made at any time under the recorder. Empty for older recordings, for traces of a machine,
    /// and for imported traces.
    pub fn lasting_calls(&self) -> &[LastingCall] {
        &self.contents.lasting_calls
    }

    /// Returns the names of the functions that made objects on the heap.
    pub fn allocators(&self) -> &[String] {
        &self.contents.allocators
    }

    /// Returns when objects on the heap begin and end, in the order of stamps. Empty for older
    /// recordings, for traces of a machine, and for imported traces.
    pub fn heap_events(&self) -> &[HeapEvent] {
        &self.contents.heap_events
    }

    /// Returns the system calls that a thread made, in order. Empty for older recordings, and for
    /// imports from formats without system calls.
    pub fn system_calls(&self, thread: ThreadId) -> &[SystemCall] {
        let stream = self.contents.streams.get(thread.index());
        stream.map_or(&[], |stream| &stream.system_calls)
    }

    /// Returns the system calls that a thread made with its execution of this number.
    pub fn system_calls_after(&self, thread: ThreadId, execution: u64) -> &[SystemCall] {
        let calls = self.system_calls(thread);
        let made = execution + 1;
        let first = calls.partition_point(|call| call.after < made);
        let own = calls[first..].partition_point(|call| call.after == made);
        &calls[first..first + own]
    }

    /// Returns the number of processes that threads belong to.
    pub fn process_count(&self) -> usize {
        let threads = self.threads().iter();
        let mut processes: Vec<u32> = threads.map(|thread| thread.process_id).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.len()
    }

    /// Returns whether the trace has several processes but no record of what they share. A replay
    /// then treats equal addresses as the same memory, which may be wrong.
    pub fn lacks_address_spaces(&self) -> bool {
        !self.header.has_address_spaces && self.process_count() > 1
    }

    /// Returns the owner of the memory at an address of an [`Access`](crate::Access), and the
    /// virtual address there.
    pub fn owner(&self, address: u64) -> (Owner, u64) {
        self.address_spaces.owner(address)
    }

    /// Returns how the trace ends.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Returns whether the recording was ended normally, for any reason.
    pub fn complete(&self) -> bool {
        matches!(self.ending, Ending::Finished(_))
    }

    /// Returns the number of executions.
    pub fn execution_count(&self) -> u64 {
        self.contents.executions
    }

    /// Returns the number of loads and stores, without fetches.
    pub fn data_access_count(&self) -> u64 {
        self.contents.data_accesses
    }

    /// Returns the size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Returns the CRC-32C of the file, to distinguish it from others; reads the whole file.
    pub fn checksum(&self) -> u32 {
        crc32c::crc32c(&self.map)
    }

    /// Creates a decoder for this trace's chunks.
    pub(super) fn decoder(&self) -> Result<Decoder, Error> {
        Decoder::new().map_err(|source| {
            let path = self.path.clone();
            Error::Read { path, source }
        })
    }

    /// Decodes the chunk at `place`; its reader may stop at these `stops`.
    pub(super) fn decode(
        &self,
        place: ChunkLocation,
        to: (&mut Decoder, &mut Chunk),
        stops: &[u32],
    ) -> Result<(), Error> {
        let decoded = self.contents.decode(&self.map, place, to, stops);
        decoded.map_err(|violation| Error::Damaged {
            path: self.path.clone(),
            entry: place.entry,
            offset: place.offset as u64,
            problem: violation.detail,
        })
    }
}
