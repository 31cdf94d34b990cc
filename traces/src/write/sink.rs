//! The file side of a writer: a separate thread that compresses entries and writes them.
//!
//! Entries are numbered, compressed and written in the order in which they are passed. The file's
//! bytes therefore do not depend on the timing of the two threads.

use crate::format::chunk::Encoder;
use crate::format::definition::{self, EnteredBlock, WrittenTemplate};
use crate::format::entry::{Message, message, seal};
use crate::format::heap_events::pack_heap_events;
use crate::format::pages::pack_pages;
use crate::format::raw_chunk::RawChunk;
use crate::format::trace_capnp::{end, entry};
use crate::model::address_space::Mapping;
use crate::model::cpu::OnCpu;
use crate::model::error::Error;
use crate::model::heap_event::HeapEvent;
use crate::model::lasting_call::LastingCall;
use crate::model::page::Page;
use crate::model::program::{Function, Module};
use crate::model::recording::{EndReason, Header, Note};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use zstd::bulk::Compressor;

/// The content of an entry.
pub enum NewEntry {
    Header(Header),
    Module(Module),
    Functions(Vec<Function>),
    CodeBlocks(Vec<EnteredBlock>),
    Shapes(Vec<WrittenTemplate>),
    Thread {
        process_id: u32,
        os_thread_id: u32,
    },
    Chunk(RawChunk),
    Note(Note),
    SharedObject(String),
    /// Of one process.
    Mappings(Vec<Mapping>),
    /// Of one process.
    Pages(Vec<Page>),
    /// Of one process.
    Cpus(Vec<OnCpu>),
    /// Names of further allocators, and events of one process.
    HeapEvents(Vec<String>, Vec<HeapEvent>),
    LastingCall(LastingCall),
    SignalHandler(u64),
    End {
        reason: EndReason,
        executions: u64,
        accesses: u64,
    },
}

enum Command {
    Write(Box<NewEntry>),
    Flush(Option<SyncSender<()>>),
}

/// The handle of the writing thread.
pub struct Sink {
    path: PathBuf,
    commands: Option<SyncSender<Command>>,
    thread: Option<JoinHandle<std::io::Result<u64>>>,
    /// Written chunks: reusing a page of memory costs a fraction of allocating a new one.
    rooms: Receiver<RawChunk>,
}

impl Sink {
    /// Starts writing to `file`; errors contain `path`.
    pub fn start(file: File, path: PathBuf, level: i32) -> Result<Sink, Error> {
        let (commands, received) = sync_channel(4);
        let (written, rooms) = channel();
        let body = move || write_all(file, level, &received, written);
        let thread = std::thread::Builder::new()
            .name("trace-writer".into())
            .spawn(body);
        let failed = |source| Error::Write {
            path: path.clone(),
            source,
        };
        let thread = Some(thread.map_err(failed)?);
        Ok(Sink {
            path,
            commands: Some(commands),
            thread,
            rooms,
        })
    }

    /// Returns an empty chunk, reusing a written one if possible.
    pub fn room(&self) -> RawChunk {
        self.rooms.try_recv().unwrap_or_default()
    }

    /// Passes the next entry to the writing thread.
    pub fn write(&mut self, entry: NewEntry) -> Result<(), Error> {
        self.send(Command::Write(Box::new(entry)))
    }

    /// Waits until all entries so far are in the file.
    pub fn flush(&mut self) -> Result<(), Error> {
        let (done, wait) = sync_channel(1);
        self.send(Command::Flush(Some(done)))?;
        match wait.recv() {
            Ok(()) => Ok(()),
            Err(_) => self.close().map(|_| ()),
        }
    }

    /// Requests that all entries so far be written to the file, without waiting.
    pub fn flush_soon(&mut self) -> Result<(), Error> {
        self.send(Command::Flush(None))
    }

    /// Ends the thread; returns the size of the file in bytes.
    pub fn close(&mut self) -> Result<u64, Error> {
        self.commands = None;
        let outcome = match self.thread.take() {
            Some(thread) => thread.join().expect("the writing thread does not panic"),
            None => Err(std::io::Error::other("writing has failed before")),
        };
        outcome.map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }

    fn send(&mut self, command: Command) -> Result<(), Error> {
        let sent = self
            .commands
            .as_ref()
            .is_some_and(|commands| commands.send(command).is_ok());
        if sent {
            Ok(())
        } else {
            self.close().map(|_| ())
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Pending entries are written even if the recorder fails; an error cannot be reported here.
        let _ = self.close();
    }
}

fn write_all(
    file: File,
    level: i32,
    commands: &Receiver<Command>,
    written: Sender<RawChunk>,
) -> std::io::Result<u64> {
    let mut output = Output {
        file: BufWriter::with_capacity(1 << 20, file),
        compressor: Compressor::new(level)?,
        encoder: Encoder::default(),
        written,
        data_counts: Vec::new(),
        number: 0,
        size_bytes: 0,
    };
    for command in commands {
        match command {
            Command::Write(entry) => output.write(*entry)?,
            Command::Flush(done) => {
                output.file.flush()?;
                // An error means that the waiting side is gone and needs no answer.
                done.map(|done| done.send(()));
            }
        }
    }
    output.file.flush()?;
    Ok(output.size_bytes)
}

struct Output {
    file: BufWriter<File>,
    compressor: Compressor<'static>,
    encoder: Encoder,
    written: Sender<RawChunk>,
    /// Number of data accesses of each template so far.
    data_counts: Vec<u16>,
    number: u32,
    size_bytes: u64,
}

impl Output {
    fn write(&mut self, entry: NewEntry) -> std::io::Result<()> {
        let compressor = &mut self.compressor;
        let message = match entry {
            NewEntry::Header(header) => header_message(&header),
            NewEntry::Module(module) => module_message(&module),
            NewEntry::Functions(all) => definition::write_functions(compressor, &all)?,
            NewEntry::CodeBlocks(all) => definition::write_code_blocks(compressor, &all)?,
            NewEntry::Shapes(all) => {
                let count = |(_, accesses): &WrittenTemplate| accesses.len() as u16;
                self.data_counts.extend(all.iter().map(count));
                definition::write_templates(compressor, &all)?
            }
            NewEntry::Thread {
                process_id,
                os_thread_id,
            } => thread_message(process_id, os_thread_id),
            NewEntry::Chunk(chunk) => return self.write_chunk(chunk),
            NewEntry::Note(note) => note_message(&note),
            NewEntry::SharedObject(name) => shared_object_message(&name),
            NewEntry::Mappings(mappings) => mappings_message(&mappings),
            NewEntry::Pages(pages) => pages_message(&pages, compressor)?,
            NewEntry::Cpus(cpus) => cpus_message(&cpus),
            NewEntry::HeapEvents(names, events) => heap_message(&names, &events, compressor)?,
            NewEntry::LastingCall(call) => lasting_call_message(&call),
            NewEntry::SignalHandler(address) => signal_handler_message(address),
            NewEntry::End {
                reason,
                executions,
                accesses,
            } => end_message(&reason, executions, accesses),
        };
        self.append(message)
    }

    /// Writes a chunk as one entry, or as several if it is too varied for one.
    fn write_chunk(&mut self, mut chunk: RawChunk) -> std::io::Result<()> {
        let (encoder, compressor) = (&mut self.encoder, &mut self.compressor);
        match encoder.write(compressor, &chunk, &self.data_counts)? {
            Some(message) => {
                chunk.clear();
                // The writer may already be gone.
                let _ = self.written.send(chunk);
                self.append(message)
            }
            None => {
                let [earlier, later] = chunk.halves(&self.data_counts);
                self.write_chunk(earlier)?;
                self.write_chunk(later)
            }
        }
    }

    fn append(&mut self, mut message: Message) -> std::io::Result<()> {
        let bytes = seal(&mut message, self.number);
        self.file.write_all(&bytes)?;
        self.number += 1;
        self.size_bytes += bytes.len() as u64;
        Ok(())
    }
}

fn header_message(header: &Header) -> Message {
    let command_bytes: usize = header
        .command
        .iter()
        .map(|argument| argument.len() + 24)
        .sum();
    let other_bytes = header.created_by.len()
        + header.request_at.len()
        + header.qemu_version.len()
        + header.architecture.len();
    let mut message = message(command_bytes + other_bytes);
    let mut written = message.init_root::<entry::Builder<'_>>().init_header();
    written.set_version(crate::format::entry::VERSION);
    written.set_created_by(&header.created_by);
    written.set_request_at(&header.request_at);
    written.set_qemu_version(&header.qemu_version);
    written.set_architecture(&header.architecture);
    written.set_has_address_spaces(header.has_address_spaces);
    let mut command = written.init_command(header.command.len() as u32);
    for (place, argument) in header.command.iter().enumerate() {
        command.set(place as u32, argument);
    }
    message
}

fn module_message(module: &Module) -> Message {
    let mut message = message(module.path.len() + module.build_id.len());
    let mut written = message.init_root::<entry::Builder<'_>>().init_module();
    written.set_path(&module.path);
    written.set_build_id(&module.build_id);
    written.set_load_bias(module.load_bias);
    written.set_start(module.start);
    written.set_end(module.end);
    message
}

fn thread_message(process_id: u32, os_thread_id: u32) -> Message {
    let mut message = message(0);
    let mut written = message.init_root::<entry::Builder<'_>>().init_thread();
    written.set_process_id(process_id);
    written.set_os_thread_id(os_thread_id);
    message
}

fn note_message(note: &Note) -> Message {
    let mut message = message(note.text.len());
    let mut written = message.init_root::<entry::Builder<'_>>().init_note();
    written.set_requests(note.requests);
    written.set_text(&note.text);
    message
}

fn shared_object_message(name: &str) -> Message {
    let mut message = message(name.len());
    let root = message.init_root::<entry::Builder<'_>>();
    root.init_shared_object().set_name(name);
    message
}

fn mappings_message(mappings: &[Mapping]) -> Message {
    let mut message = message(size_of_val(mappings));
    let mut written = message.init_root::<entry::Builder<'_>>().init_mappings();
    written.set_process_id(mappings.first().map_or(0, |mapping| mapping.process_id));
    let mut all = written.init_all(mappings.len() as u32);
    for (place, mapping) in mappings.iter().enumerate() {
        let mut written = all.reborrow().get(place as u32);
        written.set_since(mapping.since);
        written.set_start(mapping.start);
        written.set_end(mapping.end);
        written.set_object(mapping.object.map_or(0, |object| object + 1));
        written.set_offset(mapping.offset);
    }
    message
}

fn pages_message(pages: &[Page], compressor: &mut Compressor<'_>) -> std::io::Result<Message> {
    let packed = pack_pages(compressor, pages)?;
    let mut message = message(packed.size_bytes());
    let mut written = message.init_root::<entry::Builder<'_>>().init_mappings();
    written.set_process_id(pages.first().map_or(0, |page| page.process_id));
    packed.store(written);
    Ok(message)
}

fn cpus_message(cpus: &[OnCpu]) -> Message {
    let mut message = message(size_of_val(cpus));
    let mut written = message.init_root::<entry::Builder<'_>>().init_mappings();
    written.set_process_id(cpus.first().map_or(0, |on| on.process_id));
    let mut all = written.init_cpus(cpus.len() as u32);
    for (place, on) in cpus.iter().enumerate() {
        let mut written = all.reborrow().get(place as u32);
        written.set_since(on.since);
        written.set_os_thread_id(on.os_thread_id);
        written.set_cpu(on.cpu);
    }
    message
}

fn heap_message(
    names: &[String],
    events: &[HeapEvent],
    compressor: &mut Compressor<'_>,
) -> std::io::Result<Message> {
    let packed = pack_heap_events(compressor, events)?;
    let names_bytes: usize = names.iter().map(|name| name.len() + 24).sum();
    let mut message = message(packed.size_bytes() + names_bytes);
    let mut written = message.init_root::<entry::Builder<'_>>().init_mappings();
    written.set_process_id(events.first().map_or(0, |event| event.process_id));
    let mut allocators = written.reborrow().init_allocators(names.len() as u32);
    for (place, name) in names.iter().enumerate() {
        allocators.set(place as u32, name);
    }
    packed.store(written);
    Ok(message)
}

fn lasting_call_message(call: &LastingCall) -> Message {
    let mut message = message(size_of_val(call));
    let mut written = message.init_root::<entry::Builder<'_>>().init_mappings();
    written.set_process_id(call.process_id);
    let mut one = written.init_lasting_calls(1).get(0);
    one.set_number(call.number);
    one.set_first(call.arguments[0]);
    one.set_second(call.arguments[1]);
    message
}

fn signal_handler_message(address: u64) -> Message {
    let mut message = message(8);
    let root = message.init_root::<entry::Builder<'_>>();
    root.init_signal_handlers()
        .init_addresses(1)
        .set(0, address);
    message
}

fn end_message(reason: &EndReason, executions: u64, accesses: u64) -> Message {
    let (reason, text) = match reason {
        EndReason::RequestsReached => (end::Reason::RequestsReached, ""),
        EndReason::ServerExited => (end::Reason::ServerExited, ""),
        EndReason::Interrupted => (end::Reason::Interrupted, ""),
        EndReason::Failed(text) => (end::Reason::Failed, text.as_str()),
    };
    let mut message = message(text.len());
    let mut written = message.init_root::<entry::Builder<'_>>().init_end();
    written.set_reason(reason);
    written.set_message(text);
    written.set_executions(executions);
    written.set_accesses(accesses);
    message
}
