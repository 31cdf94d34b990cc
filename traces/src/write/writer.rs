//! Writes a trace during recording to `<path>.partial`, which is renamed to `<path>` when finished.
//!
//! The writer collects each thread's executions until a chunk is full. Memory therefore stays
//! bounded, and written chunks remain readable if the recording fails.

mod accesses;
mod address_spaces;
mod definitions;
mod heap;
mod marks;
mod new_heap_events;
mod system_calls;
#[cfg(test)]
mod tests;

use crate::codec::match_finder::{Arrival, Followed, HashTable, MatchFinder};
use crate::codec::template::{Interner, Size};
use crate::format::definition::{EnteredBlock, WrittenTemplate};
use crate::model::address_space::Mapping;
use crate::model::cpu::OnCpu;
use crate::model::error::Error;
use crate::model::ids::ThreadId;
use crate::model::limits::MAX_EXECUTIONS;
use crate::model::page::Page;
use crate::model::program::Function;
use crate::model::recording::{EndReason, Header, Summary, WriterOptions, partial_path};
use crate::write::sink::{NewEntry, Sink};
use crate::write::stream::ThreadStream;
use new_heap_events::NewHeapEvents;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Maximum number of pending executions and data accesses of all threads. It bounds memory to about
/// 256 MiB; only a server with many busy threads reaches it.
const MAX_WAITING: usize = 1 << 25;

/// Writes one trace.
pub struct Writer {
    path: PathBuf,
    sink: Sink,
    executions_per_chunk: usize,
    modules: u32,
    objects: u32,
    functions: u32,
    /// Number of instructions of each code block.
    instructions: Vec<u16>,
    /// Number of fetches of each code block.
    fetches: Vec<u16>,
    interner: Interner,
    /// Size of each template.
    sizes: Vec<Size>,
    new_mappings: Vec<Mapping>,
    new_pages: Vec<Page>,
    new_cpus: Vec<OnCpu>,
    new_heap_events: NewHeapEvents,
    new_functions: Vec<Function>,
    new_blocks: Vec<EnteredBlock>,
    new_templates: Vec<WrittenTemplate>,
    /// Bytes of names, dependences, pointers and data accesses of templates in the new definitions.
    new_details: usize,
    streams: Vec<ThreadStream>,
    hash_table: HashTable,
    /// Unused finders: reusing a page of memory costs a fraction of allocating a new one.
    finders: Vec<MatchFinder>,
    /// Executions and data accesses in the streams, not yet written.
    waiting: usize,
    executions: u64,
    data_accesses: u64,
    /// Including fetches.
    accesses: u64,
    requests: u64,
}

impl Writer {
    /// Creates a trace in `<path>.partial`. Only its owner may read it, because it reveals another
    /// program's memory. `path` is not changed before [`Writer::finish`].
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be created or already exists, as the leftover of a
    /// killed recording or as a link to another path. [`Error::Unrecordable`] for invalid options.
    pub fn create(path: &Path, header: &Header, options: &WriterOptions) -> Result<Self, Error> {
        let levels = zstd::compression_level_range();
        if !levels.contains(&options.compression_level) {
            let (low, high) = (levels.start(), levels.end());
            let level = options.compression_level;
            return unrecordable(format!(
                "compression level {level} is not in {low} to {high}"
            ));
        }
        let partial = partial_path(path);
        let mut new = std::fs::File::options();
        new.write(true).create_new(true).mode(0o600);
        let file = new.open(&partial).map_err(|source| Error::Write {
            path: partial.clone(),
            source,
        })?;
        let mut sink = Sink::start(file, partial, options.compression_level)?;
        sink.write(NewEntry::Header(header.clone()))?;
        Ok(Writer {
            path: path.into(),
            sink,
            executions_per_chunk: options.executions_per_chunk.clamp(1, MAX_EXECUTIONS),
            modules: 0,
            objects: 0,
            functions: 0,
            instructions: Vec::new(),
            fetches: Vec::new(),
            interner: Interner::default(),
            sizes: Vec::new(),
            new_mappings: Vec::new(),
            new_pages: Vec::new(),
            new_cpus: Vec::new(),
            new_heap_events: NewHeapEvents::default(),
            new_functions: Vec::new(),
            new_blocks: Vec::new(),
            new_templates: Vec::new(),
            new_details: 0,
            streams: Vec::new(),
            hash_table: HashTable::default(),
            finders: Vec::new(),
            waiting: 0,
            executions: 0,
            data_accesses: 0,
            accesses: 0,
            requests: 0,
        })
    }

    /// Adds a thread.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn thread(&mut self, process_id: u32, os_thread_id: u32) -> Result<ThreadId, Error> {
        self.sink.write(NewEntry::Thread {
            process_id,
            os_thread_id,
        })?;
        let thread = ThreadId::from_index(self.streams.len());
        self.streams.push(ThreadStream::new(thread));
        Ok(thread)
    }

    /// Begins a run: in replay order, the thread's next execution follows all runs of any thread
    /// with a smaller stamp.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if the stamp is not larger than the thread's last one.
    pub fn stamp(&mut self, thread: ThreadId, stamp: u64) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        if let Some(last) = stream.last_stamp.filter(|&last| last >= stamp) {
            return unrecordable(format!("thread {thread} has stamp {stamp} after {last}"));
        }
        stream.last_stamp = Some(stamp);
        stream.next_stamp = Some(stamp);
        stream.goes_on = false;
        Ok(())
    }

    /// Records an execution of a code block by the thread, with this template and these data
    /// addresses. The first `count` of `words` identify it, and the first word begins it: equal
    /// words mean equal executions. [`Writer::matched`] uses them to accept many executions at
    /// once.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread, the thread has no stamp yet, or there is
    /// no such template with this many data accesses; [`Error::Write`].
    #[inline]
    pub fn executed(
        &mut self,
        thread: ThreadId,
        template: u32,
        words: &[u64],
        count: usize,
        addresses: impl ExactSizeIterator<Item = u64>,
    ) -> Result<(), Error> {
        let data = addresses.len();
        let size = self.sizes.get(template as usize).copied();
        let Some(size) = size.filter(|size| usize::from(size.data) == data) else {
            return unrecordable(format!(
                "there is no shape {template} with {data} addresses"
            ));
        };
        if count == 0 || count > words.len() {
            return unrecordable(format!("an execution of {count} words"));
        }
        if !self.goes_on(thread, count, size) {
            self.begin(thread, count, size)?;
        }
        self.waiting += 1 + data;
        let arrival = Arrival {
            words,
            count,
            template,
            addresses,
            size,
        };
        self.streams[thread.index()].append(&mut self.hash_table, arrival);
        Ok(())
    }

    /// Records as many of the thread's next executions as repeat earlier ones: a prefix of `words`,
    /// which contains whole executions. `begins` is true for the first word of each execution. If
    /// none is accepted, pass the next one to [`Writer::executed`].
    #[inline]
    pub fn matched(
        &mut self,
        thread: ThreadId,
        words: &[u64],
        begins: impl Fn(u64) -> bool,
    ) -> Followed {
        let stream = self.streams.get_mut(thread.index());
        let Some(stream) = stream.filter(|stream| stream.goes_on) else {
            return Followed::default();
        };
        if stream.finder.executions() + words.len() > self.executions_per_chunk {
            return Followed::default();
        }
        let followed = stream.follow(words, begins);
        self.waiting += followed.executions + followed.data_accesses;
        followed
    }

    /// Writes everything recorded so far to the file, so that it survives a kill. Each thread's
    /// last execution is not written, because it may still receive accesses.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_soon()?;
        self.sink.flush()
    }

    /// Like [`Writer::flush`], but does not wait, so that recording is not delayed.
    ///
    /// # Errors
    /// [`Error::Write`], possibly from an earlier call.
    pub fn flush_soon(&mut self) -> Result<(), Error> {
        for thread in self.threads() {
            if self.streams[thread.index()].request_ended {
                self.close_execution(thread)?;
                self.streams[thread.index()].close_request();
            }
            self.write_chunk(thread)?;
        }
        self.write_definitions()?;
        self.sink.flush_soon()
    }

    /// Ends the trace and renames it to its final name.
    ///
    /// # Errors
    /// [`Error::Write`]; the written part stays in `<path>.partial`.
    pub fn finish(mut self, reason: EndReason) -> Result<Summary, Error> {
        for thread in self.threads() {
            self.settle_system_call(thread)?;
            self.close_execution(thread)?;
            self.streams[thread.index()].close_last_request();
            self.write_chunk(thread)?;
        }
        self.write_definitions()?;
        self.sink.write(NewEntry::End {
            reason,
            executions: self.executions,
            accesses: self.data_accesses,
        })?;
        let size_bytes = self.sink.close()?;
        std::fs::rename(partial_path(&self.path), &self.path).map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })?;
        Ok(Summary {
            size_bytes,
            executions: self.executions,
            accesses: self.accesses,
            requests: self.requests,
        })
    }

    /// Returns whether the thread's next execution, of this size, can simply be appended.
    #[inline]
    fn goes_on(&self, thread: ThreadId, words: usize, size: Size) -> bool {
        let stream = self.streams.get(thread.index());
        stream.is_some_and(|stream| stream.goes_on && self.has_room(&stream.finder, words, size))
    }

    #[inline]
    fn has_room(&self, finder: &MatchFinder, words: usize, size: Size) -> bool {
        finder.executions() < self.executions_per_chunk && finder.has_room(words, size)
    }

    /// Prepares for the thread's next execution, which has this size.
    #[cold]
    fn begin(&mut self, thread: ThreadId, words: usize, size: Size) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        self.close_execution(thread)?;
        self.write_ended_request(thread)?;
        let Some(beginning) = self.streams[thread.index()].take_beginning() else {
            return unrecordable(format!("thread {thread} has no stamp yet"));
        };
        self.make_room(thread, words, size)?;
        self.requests += u64::from(beginning.begins_request());
        let stream = &mut self.streams[thread.index()];
        stream.begin(&beginning);
        stream.goes_on = true;
        Ok(())
    }

    /// Starts a new chunk for what follows an ended request and belongs to no other request.
    fn write_ended_request(&mut self, thread: ThreadId) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        if stream.request_ended {
            stream.close_request();
            self.write_chunk(thread)?;
        }
        Ok(())
    }

    /// Ensures that the thread's chunk has space for an execution of this size.
    fn make_room(&mut self, thread: ThreadId, words: usize, size: Size) -> Result<(), Error> {
        if !self.has_room(&self.streams[thread.index()].finder, words, size) {
            self.write_chunk(thread)?;
            if !self.has_room(&self.streams[thread.index()].finder, words, size) {
                return unrecordable(format!("an execution of {words} words"));
            }
        }
        if self.waiting > MAX_WAITING {
            let size =
                |stream: &ThreadStream| stream.finder.executions() + stream.finder.data_accesses();
            let largest = self
                .threads()
                .max_by_key(|&thread| size(&self.streams[thread.index()]));
            largest.map_or(Ok(()), |largest| self.write_chunk(largest))?;
        }
        let stream = &mut self.streams[thread.index()];
        if stream.finder.is_new() {
            stream.finder = self.finders.pop().unwrap_or_default();
            let mut room = self.sink.room();
            stream.finder.make_room(std::mem::take(&mut room.parsed));
            room.thread = stream.chunk.thread;
            // System calls made by the last execution of the preceding chunk.
            room.system_calls.append(&mut stream.chunk.system_calls);
            stream.chunk = room;
        }
        Ok(())
    }

    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.streams.len()).map(ThreadId::from_index)
    }

    fn write_chunk(&mut self, thread: ThreadId) -> Result<(), Error> {
        let stream = &mut self.streams[thread.index()];
        let has_more = !stream.chunk.requests.is_empty() || !stream.chunk.system_calls.is_empty();
        if stream.finder.executions() == 0 && !has_more {
            return Ok(());
        }
        self.accesses += stream.finder.references() as u64;
        let chunk = stream.take_chunk();
        if !stream.finder.is_new() {
            self.finders.push(std::mem::take(&mut stream.finder));
        }
        self.executions += u64::from(chunk.executions);
        self.data_accesses += u64::from(chunk.data_accesses);
        self.waiting -= (chunk.executions + chunk.data_accesses) as usize;
        self.write_definitions()?;
        self.sink.write(NewEntry::Chunk(chunk))
    }
}

fn stream(streams: &mut [ThreadStream], thread: ThreadId) -> Result<&mut ThreadStream, Error> {
    streams
        .get_mut(thread.index())
        .ok_or_else(|| Error::Unrecordable {
            problem: format!("there is no thread {thread}"),
        })
}

fn unrecordable<T>(problem: String) -> Result<T, Error> {
    Err(Error::Unrecordable { problem })
}
