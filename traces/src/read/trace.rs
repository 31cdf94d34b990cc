//! Opens a trace: reads everything but the executions, and where in the file those are.
//!
//! The whole file is checked against its checksums at once, which takes a moment; after that only
//! the chunks that a replay comes to are in memory, so a trace may be larger than that.

use crate::format::chunk::{Chunk, Decoder};
use crate::model::address_space::{AddressSpaces, Mapping, Owner};
use crate::model::cpu::{Cpus, OnCpu};
use crate::model::error::Error;
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
    /// The recording was ended in order.
    Finished(EndReason),
    /// The file stops before the recording's end.
    Cut {
        /// Everything before this byte of the file is whole and was read.
        offset: u64,
        /// How many bytes of an entry that is not whole follow.
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
    /// Opens a trace and checks every byte of it against its checksums. A trace whose recording was
    /// cut off is opened up to its last whole chunk: see [`Trace::ending`].
    ///
    /// # Errors
    /// When the file cannot be read, is no trace, is newer than this build, or is damaged.
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

    /// What was known when the recording began.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The modules, by index.
    pub fn modules(&self) -> &[Module] {
        &self.contents.modules
    }

    /// The functions whose entries were executed, by index.
    pub fn functions(&self) -> &[Function] {
        &self.contents.functions
    }

    /// The code blocks, by index.
    pub fn code_blocks(&self) -> &[CodeBlock] {
        &self.contents.code_blocks
    }

    /// Whether the trace says what addresses come from. No trace does that was imported, or
    /// recorded before traces could.
    pub fn has_dependences(&self) -> bool {
        let mut blocks = self.code_blocks().iter();
        blocks.any(|block| !block.dependences.is_empty())
    }

    /// Whether the trace tells what registers held, where code accesses memory by them. No trace
    /// does that was imported, or recorded before traces could.
    pub fn has_pointers(&self) -> bool {
        let mut blocks = self.code_blocks().iter();
        blocks.any(|block| !block.pointers.is_empty())
    }

    /// For each code block, the function whose entry it starts at, if any.
    pub fn entered_functions(&self) -> &[Option<FunctionId>] {
        &self.contents.entered
    }

    /// The threads, by index.
    pub fn threads(&self) -> &[Thread] {
        &self.contents.threads
    }

    /// The requests, in the order in which a replay comes to them.
    pub fn requests(&self) -> &[Request] {
        &self.requests.all
    }

    /// What the user noted while recording, in that order.
    pub fn notes(&self) -> &[Note] {
        &self.contents.notes
    }

    /// The names of what processes share, by index.
    pub fn shared_objects(&self) -> &[String] {
        &self.contents.shared_objects
    }

    /// What processes have at some of their addresses, where that is not memory of their own.
    pub fn mappings(&self) -> &[Mapping] {
        &self.contents.mappings
    }

    /// Where pages are in physical memory, in the order of the file; none but of a whole machine.
    pub fn pages(&self) -> &[Page] {
        &self.contents.pages
    }

    /// On which CPUs of a machine threads run, in the order of the file.
    pub fn cpus(&self) -> &[OnCpu] {
        &self.contents.cpus
    }

    /// The CPU that a thread was on in its run with this stamp; `None` where it is not told.
    #[must_use]
    pub fn cpu(&self, thread: ThreadId, stamp: u64) -> Option<u16> {
        self.cpus.of(thread, stamp)
    }

    /// Has readers given these addresses, virtual ones unless this is called. Where a page is in
    /// physical memory [`Trace::pages`] say; of others the addresses stay virtual.
    pub fn index_by(&mut self, index: Index) {
        self.index = index;
    }

    /// Which addresses readers are given.
    #[must_use]
    pub fn index(&self) -> Index {
        self.index
    }

    /// Where in physical memory the page is that a thread has at an address, in its run with this
    /// stamp: its number there. As readers are given the address by virtual ones, of a process's
    /// own memory; `None` where nothing is said of the page.
    pub fn frame(&self, thread: ThreadId, stamp: u64, address: u64) -> Option<u64> {
        let (_, address) = self.owner(address);
        self.page_tables.of_thread(thread, stamp, address)
    }

    /// What locates addresses; `None` where they need not be.
    pub(super) fn locator(&self) -> Option<Locator<'_>> {
        Locator::new(self.index, &self.address_spaces, &self.page_tables)
    }

    /// Where signal handlers begin that the server has installed, as guest addresses, ascending.
    /// None are known of a trace before version 4, or of one that was imported.
    pub fn signal_handlers(&self) -> Vec<u64> {
        let mut addresses: Vec<u64> = self.contents.signal_handlers.iter().copied().collect();
        addresses.sort_unstable();
        addresses
    }

    /// System calls, made at any time while the server ran under the recorder, after which the
    /// kernel treats a process or a thread otherwise. None are known of a trace that was recorded
    /// before traces told them, of a machine, or imported.
    pub fn lasting_calls(&self) -> &[LastingCall] {
        &self.contents.lasting_calls
    }

    /// The system calls that a thread made, in order. None are known of a trace that was recorded
    /// before traces told them, or imported from a format that does not.
    pub fn system_calls(&self, thread: ThreadId) -> &[SystemCall] {
        let stream = self.contents.streams.get(thread.index());
        stream.map_or(&[], |stream| &stream.system_calls)
    }

    /// The system calls that a thread made with its execution of this number.
    pub fn system_calls_after(&self, thread: ThreadId, execution: u64) -> &[SystemCall] {
        let calls = self.system_calls(thread);
        let made = execution + 1;
        let first = calls.partition_point(|call| call.after < made);
        let own = calls[first..].partition_point(|call| call.after == made);
        &calls[first..first + own]
    }

    /// Number of processes that threads belong to.
    pub fn process_count(&self) -> usize {
        let threads = self.threads().iter();
        let mut processes: Vec<u32> = threads.map(|thread| thread.process_id).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.len()
    }

    /// Whether the trace is of several processes and says nothing of what they share: a replay
    /// takes equal addresses for the same memory, which they need not be.
    pub fn lacks_address_spaces(&self) -> bool {
        !self.header.has_address_spaces && self.process_count() > 1
    }

    /// Whose memory an address of an [`Access`](crate::Access) is of, and the virtual address
    /// there.
    pub fn owner(&self, address: u64) -> (Owner, u64) {
        self.address_spaces.owner(address)
    }

    /// How the trace ends.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Whether the recording was ended in order, for whatever reason.
    pub fn complete(&self) -> bool {
        matches!(self.ending, Ending::Finished(_))
    }

    /// Number of executions.
    pub fn execution_count(&self) -> u64 {
        self.contents.executions
    }

    /// Number of loads and stores, fetches not counted.
    pub fn data_access_count(&self) -> u64 {
        self.contents.data_accesses
    }

    /// Size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// CRC-32C of the file, which tells it from others; reads all of it.
    pub fn checksum(&self) -> u32 {
        crc32c::crc32c(&self.map)
    }

    /// What decodes this trace's chunks.
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
