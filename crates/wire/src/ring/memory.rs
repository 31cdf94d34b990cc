//! The shared memory: a header, the chunks' headers, the control ring, listed numbers, the chunks.
//!
//! Everything in it is an atomic, so both processes may read any of it at any time. Each type
//! accepts any bytes, which the compiler proves, because wild stores of the server may write
//! anything. The only unsafe steps are the mapping and the access at an offset.

use crate::ring::chunk::ChunkHeader;
use crate::ring::header::{Header, Place};
use crate::ring::offsets::Offsets;
use crate::ring::settings::Settings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use zerocopy::FromBytes;

const MAGIC: u64 = 0x676e_6972_706f_6863;
const VERSION: u64 = 12;

/// Why the shared memory cannot be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system reported an error.
    #[error("cannot {what} the shared recording memory: {source}")]
    System {
        /// The failed step.
        what: &'static str,
        /// The operating system's error.
        source: rustix::io::Errno,
    },
    /// The file is not from a recorder of this version.
    #[error("the shared recording memory is not this version's: build plugin and command together")]
    Foreign,
}

impl Error {
    /// Returns whether the limit on file sizes is the cause: it applies to anonymous memory files
    /// too.
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

/// The mapping. Each side has one; it is unmapped when dropped.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    bytes: usize,
    settings: Settings,
    offsets: Offsets,
}

// SAFETY: the mapping is never moved and contains only atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Creates the memory, in the recorder, which is the calling process.
    pub fn create(settings: &Settings) -> Result<(Memory, OwnedFd), Error> {
        let system = |what| move |source| Error::System { what, source };
        let settings = settings.at_least_the_least();
        let offsets = Offsets::of(&settings).ok_or(Error::System {
            what: "size",
            source: rustix::io::Errno::OVERFLOW,
        })?;
        let file = rustix::fs::memfd_create("corehop-recording", MemfdFlags::CLOEXEC)
            .map_err(system("create"))?;
        rustix::fs::ftruncate(&file, offsets.end as u64).map_err(system("size"))?;
        let memory = Memory::map(&file, settings, offsets)?;
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

    /// Opens the memory that a recorder created.
    pub fn open(path: &Path) -> Result<Memory, Error> {
        let system = |what| move |source| Error::System { what, source };
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(system("open"))?;
        let bytes = rustix::fs::fstat(&file).map_err(system("open"))?.st_size as usize;
        if bytes < size_of::<Header>() {
            return Err(Error::Foreign);
        }
        let first = Memory::map(&file, Settings::default(), Offsets::of_the_header_alone())?;
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
        let possible = settings == settings.at_least_the_least();
        let offsets = Offsets::of(&settings).filter(|offsets| offsets.end == bytes);
        match offsets {
            Some(offsets) if ours && possible => Memory::map(&file, settings, offsets),
            _ => Err(Error::Foreign),
        }
    }

    fn map(file: impl AsFd, settings: Settings, offsets: Offsets) -> Result<Memory, Error> {
        let bytes = offsets.end;
        // SAFETY: a new mapping at an address that the system chooses affects no other memory.
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
            offsets,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.all(0, 1)[0]
    }

    /// Returns `count` values from `offset` on. They are atomics, or consist only of atomics.
    fn all<T: FromBytes>(&self, offset: usize, count: usize) -> &[T] {
        let end = count.checked_mul(size_of::<T>());
        let end = end.and_then(|bytes| bytes.checked_add(offset));
        assert!(offset.is_multiple_of(align_of::<T>()) && end.is_some_and(|end| end <= self.bytes));
        // SAFETY: the range is within the mapping, which is page-aligned and lives as long as
        // `self`, and any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), count) }
    }

    /// Returns the sizes of this memory.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn chunk_headers(&self) -> &[ChunkHeader] {
        self.all(self.offsets.chunk_headers, self.settings.chunks as usize)
    }

    pub(crate) fn chunk_data(&self, chunk: u32) -> &[AtomicU64] {
        assert!(chunk < self.settings.chunks);
        let words = self.settings.chunk_words as usize;
        self.all(self.offsets.data + chunk as usize * words * 8, words)
    }

    pub(crate) fn control_data(&self) -> &[AtomicU64] {
        self.all(self.offsets.control, self.settings.control_words as usize)
    }

    pub(crate) fn listed(&self) -> &[AtomicU64] {
        self.all(self.offsets.listed, self.settings.listed as usize)
    }

    /// Ends recording: every thread stops writing at its next stamp, system call or request mark.
    pub fn stop(&self) {
        self.header().stop.set(true, Ordering::Relaxed);
    }

    /// Returns true once either side has ended recording.
    pub fn is_stopped(&self) -> bool {
        self.header().stop.is_set()
    }

    /// Marks the plugin as loaded; called by the plugin.
    pub fn set_loaded(&self) {
        self.header().loaded.set(true, Ordering::Relaxed);
    }

    /// Returns true once the plugin is loaded.
    pub fn is_loaded(&self) -> bool {
        self.header().loaded.is_set()
    }

    /// Returns true if the recorder's process no longer exists, so that nobody reads what is
    /// written.
    pub fn recorder_is_gone(&self) -> bool {
        process_is_gone(self.header().recorder.load(Ordering::Relaxed))
    }

    /// Returns the total time that threads have waited for chunks because the recorder was too
    /// slow.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.header().waited_us.0.load(Ordering::Relaxed))
    }

    pub(crate) fn marker_place(&self) -> &Place {
        &self.header().marker
    }

    /// Returns a new number for a connection, unique among the server's processes, from 1.
    pub fn next_connection(&self) -> u64 {
        let numbers = &self.header().next_connection.0;
        numbers.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Returns a new stamp that no stream has; changes with this stamp hold for everything after
    /// it.
    pub fn next_stamp(&self) -> u64 {
        self.header().next_stamp.0.fetch_add(1, Ordering::AcqRel)
    }

    /// Returns a new number for a code block, unique among the server's processes.
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

/// Returns true if no process has this id, or if it has ended but was not yet waited for.
pub fn process_is_gone(process: u32) -> bool {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
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
