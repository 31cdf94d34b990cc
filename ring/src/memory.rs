//! The layout of the shared memory: a header, the chunks' headers, the control ring, the chunks.
//!
//! Everything in it is an atomic, so both processes may look at any of it at any time and the only
//! unsafe step is the mapping itself.

use crate::choice::Counts;
use crate::marker::Place;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

const MAGIC: u64 = 0x676e_6972_706f_6863;
const VERSION: u64 = 4;
const PAGE_BYTES: usize = 4096;

/// Why the shared memory cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused the memory.
    #[error("cannot {what} the shared recording memory: {source}")]
    System {
        /// Which step.
        what: &'static str,
        /// What the system said.
        source: rustix::io::Errno,
    },
    /// The file is not what a recorder makes.
    #[error("the shared recording memory is not this version's: build plugin and command together")]
    Foreign,
}

impl Error {
    /// Whether the limit on file sizes is what forbids it: it counts for memory without a name too.
    pub fn is_file_limit(&self) -> bool {
        matches!(
            self,
            Error::System {
                source: rustix::io::Errno::FBIG,
                ..
            }
        )
    }
}

/// Sizes of the parts.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Words of one chunk, at least 16.
    pub chunk_words: u32,
    /// Number of chunks. A server with more threads than this at work at once is slowed down.
    pub chunks: u32,
    /// Words of the control ring, at least 2048, which any message fits into.
    pub control_words: u32,
    /// Number of requests to record, the first that come, where none are listed.
    pub request_limit: u64,
    /// Number of requests that are listed, which alone are recorded; 0 for the first that come.
    pub listed: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            chunk_words: 2 * 1024,
            chunks: 1024,
            control_words: 128 * 1024,
            request_limit: u64::MAX,
            listed: 0,
        }
    }
}

/// Keeps a value that many threads write off its neighbours' cache line.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Apart<T>(pub(crate) T);

/// What both sides know about each other.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    magic: AtomicU64,
    version: AtomicU64,
    chunk_words: AtomicU32,
    chunks: AtomicU32,
    control_words: AtomicU32,
    recorder: AtomicU32,
    request_limit: AtomicU64,
    listed: AtomicU32,
    stop: AtomicBool,
    loaded: AtomicBool,
    pub(crate) counts: Counts,
    pub(crate) next_stamp: Apart<AtomicU64>,
    pub(crate) next_stream: Apart<AtomicU32>,
    pub(crate) next_block: Apart<AtomicU32>,
    pub(crate) free_chunks: Apart<AtomicU32>,
    pub(crate) waited_us: Apart<AtomicU64>,
    pub(crate) control: Apart<ControlHeader>,
    next_connection: Apart<AtomicU64>,
    marker: Place,
}

#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct ControlHeader {
    /// Process that holds the lock; 0 when nobody does.
    pub(crate) owner: AtomicU32,
    /// Words ever written and words ever read.
    pub(crate) written: AtomicU64,
    pub(crate) read: AtomicU64,
}

/// States of a chunk, in the order it passes through them.
pub(crate) mod state {
    /// Anybody may claim it.
    pub(crate) const FREE: u32 = 0;
    /// Claimed; its header is being written.
    pub(crate) const CLAIMED: u32 = 1;
    /// A thread writes words, and its length with each.
    pub(crate) const OWNED: u32 = 2;
    /// Its thread is done with it.
    pub(crate) const FULL: u32 = 3;
}

/// Who writes a chunk, and how far it has come.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct ChunkHeader {
    pub(crate) state: AtomicU32,
    /// Words written.
    pub(crate) length: AtomicU32,
    pub(crate) stream: AtomicU32,
    /// How many chunks the stream had before this one.
    pub(crate) sequence: AtomicU32,
    pub(crate) process: AtomicU32,
    pub(crate) thread: AtomicU32,
}

/// The mapping. Both sides hold one; it is unmapped when dropped.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    bytes: usize,
    settings: Settings,
}

// SAFETY: the mapping is never moved and holds nothing but atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Makes the memory, as the recorder, which the calling process is from now on.
    pub fn create(settings: &Settings) -> Result<(Memory, OwnedFd), Error> {
        let system = |what| move |source| Error::System { what, source };
        let settings = Settings {
            chunk_words: settings.chunk_words.max(16),
            chunks: settings.chunks.max(1),
            control_words: settings.control_words.max(2048),
            ..*settings
        };
        let file = rustix::fs::memfd_create("corehop-recording", MemfdFlags::CLOEXEC)
            .map_err(system("create"))?;
        let bytes = Offsets::of(&settings).end;
        rustix::fs::ftruncate(&file, bytes as u64).map_err(system("size"))?;
        let memory = Memory::map(&file, bytes, settings)?;
        let header = memory.header();
        let relaxed = Ordering::Relaxed;
        header.chunk_words.store(settings.chunk_words, relaxed);
        header.chunks.store(settings.chunks, relaxed);
        header.control_words.store(settings.control_words, relaxed);
        header.request_limit.store(settings.request_limit, relaxed);
        header.listed.store(settings.listed, relaxed);
        header.recorder.store(std::process::id(), relaxed);
        header.free_chunks.0.store(settings.chunks, relaxed);
        header.next_stamp.0.store(1, relaxed);
        header.version.store(VERSION, relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok((memory, file))
    }

    /// Opens the memory that a recorder made.
    pub fn open(path: &Path) -> Result<Memory, Error> {
        let system = |what| move |source| Error::System { what, source };
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(system("open"))?;
        let bytes = rustix::fs::fstat(&file).map_err(system("open"))?.st_size as usize;
        if bytes < size_of::<Header>() {
            return Err(Error::Foreign);
        }
        let first = Memory::map(&file, size_of::<Header>(), Settings::default())?;
        let header = first.header();
        let relaxed = Ordering::Relaxed;
        let settings = Settings {
            chunk_words: header.chunk_words.load(relaxed),
            chunks: header.chunks.load(relaxed),
            control_words: header.control_words.load(relaxed),
            request_limit: header.request_limit.load(relaxed),
            listed: header.listed.load(relaxed),
        };
        let ours = header.magic.load(Ordering::Acquire) == MAGIC
            && header.version.load(relaxed) == VERSION;
        if !ours || Offsets::of(&settings).end != bytes {
            return Err(Error::Foreign);
        }
        Memory::map(&file, bytes, settings)
    }

    fn map(file: impl AsFd, bytes: usize, settings: Settings) -> Result<Memory, Error> {
        // SAFETY: a new mapping at an address the system chooses harms no other memory.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }
        .map_err(|source| Error::System {
            what: "map",
            source,
        })?;
        let base = NonNull::new(base.cast()).ok_or(Error::Foreign)?;
        Ok(Memory {
            base,
            bytes,
            settings,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header, is page-aligned and lives as long as `self`;
        // any bytes are valid atomics (the flags are only ever written as booleans).
        unsafe { self.base.cast().as_ref() }
    }

    /// The sizes of this memory.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn chunk(&self, chunk: u32) -> &ChunkHeader {
        assert!(chunk < self.settings.chunks);
        let offset = Offsets::of(&self.settings).chunk_headers;
        // SAFETY: `chunk` is in range, so the header lies within the mapping, aligned to 64 bytes.
        unsafe {
            let headers = self.base.add(offset).cast::<ChunkHeader>();
            headers.add(chunk as usize).as_ref()
        }
    }

    pub(crate) fn chunk_data(&self, chunk: u32) -> &[AtomicU64] {
        assert!(chunk < self.settings.chunks);
        let words = self.settings.chunk_words as usize;
        self.words(
            Offsets::of(&self.settings).data + chunk as usize * words * 8,
            words,
        )
    }

    pub(crate) fn control_data(&self) -> &[AtomicU64] {
        let words = self.settings.control_words as usize;
        self.words(Offsets::of(&self.settings).control, words)
    }

    pub(crate) fn listed(&self) -> &[AtomicU64] {
        let offset = Offsets::of(&self.settings).listed;
        self.words(offset, self.settings.listed as usize)
    }

    fn words(&self, offset: usize, words: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(8) && offset + words * 8 <= self.bytes);
        // SAFETY: the range lies within the mapping, is aligned and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), words) }
    }

    /// Ends recording: every thread stops writing at its next stamp, system call or request mark.
    pub fn stop(&self) {
        self.header().stop.store(true, Ordering::Relaxed);
    }

    /// True once either side has ended recording.
    pub fn is_stopped(&self) -> bool {
        self.header().stop.load(Ordering::Relaxed)
    }

    /// Says that the plugin is loaded, as the plugin.
    pub fn set_loaded(&self) {
        self.header().loaded.store(true, Ordering::Relaxed);
    }

    /// True once the plugin was loaded.
    pub fn is_loaded(&self) -> bool {
        self.header().loaded.load(Ordering::Relaxed)
    }

    /// True when the recorder's process no longer exists, so that nobody reads what is written.
    pub fn recorder_is_gone(&self) -> bool {
        process_is_gone(self.header().recorder.load(Ordering::Relaxed))
    }

    /// Time that threads have waited for chunks, added up: the recorder was behind.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.header().waited_us.0.load(Ordering::Relaxed))
    }

    pub(crate) fn marker_place(&self) -> &Place {
        &self.header().marker
    }

    /// A number for a connection that no process of the server has used, from 1.
    pub fn next_connection(&self) -> u64 {
        let numbers = &self.header().next_connection.0;
        numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A stamp that no stream has: what is true from it on holds for what comes after it.
    pub fn next_stamp(&self) -> u64 {
        self.header().next_stamp.0.fetch_add(1, Ordering::AcqRel)
    }

    /// A number for a code block that no process of the server has used.
    pub fn next_block(&self) -> u32 {
        self.header().next_block.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is our own mapping, and nothing borrowed from it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// True when no process has this id, or it has ended and nobody has waited for it yet.
pub fn process_is_gone(process: u32) -> bool {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Some(process) = Pid::from_raw(process.cast_signed()) else {
        return true;
    };
    match pidfd_open(process, PidfdFlags::empty()) {
        Err(error) => error == rustix::io::Errno::SRCH,
        Ok(descriptor) => {
            let mut ended = [PollFd::new(&descriptor, PollFlags::IN)];
            poll(&mut ended, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        }
    }
}

struct Offsets {
    chunk_headers: usize,
    control: usize,
    listed: usize,
    data: usize,
    end: usize,
}

impl Offsets {
    fn of(settings: &Settings) -> Offsets {
        let chunks = settings.chunks as usize;
        let chunk_headers = size_of::<Header>().next_multiple_of(64);
        let headers_end = chunk_headers + chunks * size_of::<ChunkHeader>();
        let control = headers_end.next_multiple_of(PAGE_BYTES);
        let control_end = control + settings.control_words as usize * 8;
        let listed_end = control_end + settings.listed as usize * 8;
        let data = listed_end.next_multiple_of(PAGE_BYTES);
        let end = data + chunks * settings.chunk_words as usize * 8;
        Offsets {
            chunk_headers,
            control,
            listed: control_end,
            data,
            end: end.next_multiple_of(PAGE_BYTES),
        }
    }
}
