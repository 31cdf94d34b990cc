//! All contents of a trace except its executions, collected entry by entry.
//!
//! Both `open` and `check` use this, so they agree on the rules for a trace.

mod address_spaces;
mod chunks;

use crate::codec::template::Templates;
use crate::format::chunk::{Chunk, ChunkOrder, Decoder};
use crate::format::definition::{read_code_blocks, read_functions, read_templates};
use crate::format::entry::{self, VERSION};
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::entry as schema;
use crate::format::trace_capnp::{block, code_blocks, end, functions, header, module, shapes};
use crate::model::address_space::Mapping;
use crate::model::cpu::OnCpu;
use crate::model::heap_event::HeapEvent;
use crate::model::ids::FunctionId;
use crate::model::lasting_call::LastingCall;
use crate::model::page::Page;
use crate::model::program::{CodeBlock, Function, Module};
use crate::model::recording::{EndReason, Header, Note};
use crate::model::requests::Mark;
use crate::model::system_call::SystemCall;
use crate::model::thread::Thread;
use std::collections::HashSet;

/// A chunk's place in the file, and the state needed to begin reading there.
#[derive(Clone, Copy)]
pub struct ChunkLocation {
    /// Number of the entry.
    pub entry: u32,
    /// Where it begins.
    pub offset: usize,
    /// Its size in bytes.
    pub length: usize,
    /// Stamp of the first run.
    pub first_stamp: u64,
    /// Request marks of the thread before this chunk.
    pub marks_before: u32,
    /// Request marks in this chunk.
    pub marks: u32,
    /// Number of its executions.
    pub executions: u32,
    /// Executions of the thread before this chunk.
    pub executions_before: u64,
    /// Number of templates that are defined before this chunk.
    pub templates_before: u32,
}

/// Why an entry of a file is rejected.
pub enum Refusal {
    /// The trace has this newer version of the format.
    Newer(u16),
    /// The entry breaks a rule.
    Broken(Violation),
}

impl<T: Into<Violation>> From<T> for Refusal {
    fn from(violation: T) -> Refusal {
        Refusal::Broken(violation.into())
    }
}

/// One thread's part of the contents.
#[derive(Default)]
pub struct ThreadChunks {
    /// Chunks with executions, in order.
    pub chunks: Vec<ChunkLocation>,
    /// Request marks, in order.
    pub marks: Vec<Mark>,
    /// Stamps of all runs, in order, until a trace takes them.
    pub run_stamps: Vec<u64>,
    /// System calls, in order.
    pub system_calls: Vec<SystemCall>,
    last_stamp: Option<u64>,
    executions: u64,
}

impl ThreadChunks {
    /// Returns the chunk with this mark of the thread, which begins a request.
    pub fn chunk_of(&self, mark: u32) -> ChunkLocation {
        let later = self
            .chunks
            .partition_point(|chunk| chunk.marks_before <= mark);
        self.chunks[later - 1]
    }
}

/// The contents of the entries so far.
pub struct Contents {
    /// The header, once it is read.
    pub header: Option<Header>,
    /// Modules by number.
    pub modules: Vec<Module>,
    /// Functions by number.
    pub functions: Vec<Function>,
    /// Code blocks by number.
    pub code_blocks: Vec<CodeBlock>,
    /// For each code block, the function that it enters.
    pub entered: Vec<Option<FunctionId>>,
    /// Templates by number.
    pub templates: Templates,
    /// Threads by number.
    pub threads: Vec<Thread>,
    /// The threads' chunks and marks.
    pub streams: Vec<ThreadChunks>,
    /// The user's notes, in file order.
    pub notes: Vec<Note>,
    /// Names of shared objects by number.
    pub shared_objects: Vec<String>,
    /// Mappings of processes, in file order.
    pub mappings: Vec<Mapping>,
    /// Physical locations of pages, in file order.
    pub pages: Vec<Page>,
    /// CPUs of threads, in file order.
    pub cpus: Vec<OnCpu>,
    /// Names of allocators by number.
    pub allocators: Vec<String>,
    /// Begins and ends of objects on the heap, in file order.
    pub heap_events: Vec<HeapEvent>,
    /// Calls that change how the kernel treats a process from then on, in file order.
    pub lasting_calls: Vec<LastingCall>,
    /// Addresses of signal handlers.
    pub signal_handlers: HashSet<u64>,
    /// Why the recording ended, once the end is read.
    pub end: Option<EndReason>,
    /// Executions in all chunks.
    pub executions: u64,
    /// Data accesses in all chunks.
    pub data_accesses: u64,
    decoder: Decoder,
    order: ChunkOrder,
}

impl Contents {
    /// Creates empty contents.
    ///
    /// # Errors
    /// If there is not enough memory for decompression.
    pub fn new() -> std::io::Result<Contents> {
        Ok(Contents {
            header: None,
            modules: Vec::new(),
            functions: Vec::new(),
            code_blocks: Vec::new(),
            entered: Vec::new(),
            templates: Templates::default(),
            threads: Vec::new(),
            streams: Vec::new(),
            notes: Vec::new(),
            shared_objects: Vec::new(),
            mappings: Vec::new(),
            pages: Vec::new(),
            cpus: Vec::new(),
            allocators: Vec::new(),
            heap_events: Vec::new(),
            lasting_calls: Vec::new(),
            signal_handlers: HashSet::new(),
            end: None,
            executions: 0,
            data_accesses: 0,
            decoder: Decoder::new()?,
            order: ChunkOrder::default(),
        })
    }

    /// Adds the next entry, which begins at `offset` and whose bytes are intact.
    pub fn take(&mut self, bytes: &[u8], offset: usize) -> Result<(), Refusal> {
        let message = entry::read(bytes)?;
        let entry = message.get_root::<schema::Reader<'_>>()?;
        let which = entry.which();
        if let Ok(schema::Header(header)) = which {
            return self.take_header(header?);
        }
        if self.header.is_none() {
            return Err(Rule::Header
                .broken("the first entry is not the header")
                .into());
        }
        if self.end.is_some() {
            return Err(Rule::End.broken("an entry follows the end").into());
        }
        let which = which.map_err(|error| {
            Rule::Entries.broken(format!("an entry of a kind that version 1 lacks: {error}"))
        })?;
        match which {
            schema::Header(_) => unreachable!("taken above"),
            schema::Module(module) => self.take_module(module?)?,
            schema::Functions(functions) => self.take_functions(functions?)?,
            schema::CodeBlocks(blocks) => self.take_code_blocks(blocks?)?,
            schema::Shapes(templates) => self.take_templates(templates?)?,
            schema::Thread(thread) => {
                let thread = thread?;
                self.threads.push(Thread {
                    process_id: thread.get_process_id(),
                    os_thread_id: thread.get_os_thread_id(),
                });
                self.streams.push(ThreadChunks::default());
            }
            schema::Block(block) => {
                let number = entry::number(bytes);
                self.take_chunk(block?, number, offset, bytes.len())?;
            }
            schema::Note(note) => {
                let note = note?;
                self.notes.push(Note {
                    requests: note.get_requests(),
                    text: note.get_text()?.to_string()?,
                });
            }
            schema::SharedObject(object) => self.take_shared_object(object?)?,
            schema::Mappings(mappings) => self.take_mappings(mappings?)?,
            schema::SignalHandlers(handlers) => {
                let addresses = handlers?.get_addresses()?;
                self.signal_handlers.extend(addresses);
            }
            schema::End(end) => self.take_end(end?)?,
        }
        Ok(())
    }

    /// Reads the runs and marks of the chunk at `place` of the file that the contents are from.
    pub fn order(
        &self,
        file: &[u8],
        place: ChunkLocation,
        (decoder, order): (&mut Decoder, &mut ChunkOrder),
    ) -> Result<(), Violation> {
        read_chunk(file, place, |message| decoder.read_order(message, order))
    }

    /// Decodes the chunk at `place` of the file that the contents are from; its reader may stop at
    /// these `stops`.
    pub fn decode(
        &self,
        file: &[u8],
        place: ChunkLocation,
        (decoder, chunk): (&mut Decoder, &mut Chunk),
        stops: &[u32],
    ) -> Result<(), Violation> {
        let size =
            |template| (template < place.templates_before).then(|| self.templates.size(template));
        read_chunk(file, place, |message| {
            decoder.read(message, chunk, size, stops)
        })
    }

    fn take_header(&mut self, header: header::Reader<'_>) -> Result<(), Refusal> {
        if self.header.is_some() {
            return Err(Rule::Header.broken("a second header").into());
        }
        if header.get_version() > VERSION {
            return Err(Refusal::Newer(header.get_version()));
        }
        let mut command = Vec::new();
        for argument in header.get_command()? {
            command.push(argument?.to_string()?);
        }
        self.header = Some(Header {
            created_by: header.get_created_by()?.to_string()?,
            command,
            request_at: header.get_request_at()?.to_string()?,
            qemu_version: header.get_qemu_version()?.to_string()?,
            architecture: header.get_architecture()?.to_string()?,
            has_address_spaces: header.get_has_address_spaces(),
        });
        Ok(())
    }

    fn take_module(&mut self, module: module::Reader<'_>) -> Result<(), Violation> {
        let module = Module {
            path: module.get_path()?.to_string()?,
            build_id: module.get_build_id()?.to_string()?,
            load_bias: module.get_load_bias(),
            start: module.get_start(),
            end: module.get_end(),
        };
        if module.start > module.end {
            return Err(Rule::Program.broken(format!("{} ends before it starts", module.path)));
        }
        self.modules.push(module);
        Ok(())
    }

    fn take_functions(&mut self, entry: functions::Reader<'_>) -> Result<(), Violation> {
        let functions = read_functions(self.decoder.decompressor(), entry)?;
        for function in &functions {
            if function.module as usize >= self.modules.len() {
                let detail = format!("{} is in module {}", function.symbol, function.module);
                return Err(Rule::References.broken(detail));
            }
        }
        self.functions.extend(functions);
        Ok(())
    }

    fn take_code_blocks(&mut self, entry: code_blocks::Reader<'_>) -> Result<(), Violation> {
        let blocks = read_code_blocks(self.decoder.decompressor(), entry)?;
        for (block, entered) in blocks {
            if let Some(function) = entered.filter(|&f| f.index() >= self.functions.len()) {
                let start = block.start;
                let detail = format!("the code block at {start:#x} enters function {function}");
                return Err(Rule::References.broken(detail));
            }
            self.code_blocks.push(block);
            self.entered.push(entered);
        }
        Ok(())
    }

    fn take_templates(&mut self, entry: shapes::Reader<'_>) -> Result<(), Violation> {
        let (blocks, entered) = (&self.code_blocks, &self.entered);
        let templates = &mut self.templates;
        read_templates(self.decoder.decompressor(), entry, |number, accesses| {
            let block = blocks.get(number as usize).ok_or_else(|| {
                Rule::References.broken(format!("a shape is of code block {number}"))
            })?;
            let entry = entered[number as usize];
            let pushed = templates.push((number, block), entry, accesses);
            pushed.map_err(|detail| Rule::Shapes.broken(detail))
        })
    }

    fn take_end(&mut self, end: end::Reader<'_>) -> Result<(), Violation> {
        let reason = end.get_reason();
        let reason = reason.map_err(|_| Rule::End.broken("a reason that version 1 lacks"))?;
        let reason = match reason {
            end::Reason::RequestsReached => EndReason::RequestsReached,
            end::Reason::ServerExited => EndReason::ServerExited,
            end::Reason::Interrupted => EndReason::Interrupted,
            end::Reason::Failed => EndReason::Failed(end.get_message()?.to_string()?),
        };
        let (executions, accesses) = (end.get_executions(), end.get_accesses());
        if executions != self.executions || accesses != self.data_accesses {
            return Err(Rule::End.broken(format!(
                "claims {executions} executions and {accesses} data accesses, but {} and {} are \
                 there",
                self.executions, self.data_accesses
            )));
        }
        self.end = Some(reason);
        Ok(())
    }
}

/// Reads the entry at `place`, which is that of a chunk.
fn read_chunk(
    file: &[u8],
    place: ChunkLocation,
    read: impl FnOnce(block::Reader<'_>) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let message = entry::read(&file[place.offset..place.offset + place.length])?;
    let entry = message.get_root::<schema::Reader<'_>>()?;
    let Ok(schema::Block(message)) = entry.which() else {
        unreachable!("the place of a block was noted when its entry was taken");
    };
    read(message?)
}
