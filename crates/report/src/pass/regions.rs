//! Names of memory regions: code and data of modules, stacks, and other memory by address.
//!
//! A trace records where modules have their code, but no other mappings, so other regions are
//! recognized by their use. A call stores its return address as the last access of its code block:
//! pages that receive return addresses are stacks. Memory that follows a module's code without a
//! gap is its data, which the heap of `brk` may adjoin. All other memory is a heap or another
//! mapping. It is named by its first address, and by its process if there are several. Recording
//! all mappings was rejected: existing traces lack them.

use super::replay_pass::{ReplayStep, StepListener};
use corehop_traces::{Access, CodeBlock, Kind, Module, Owner, ThreadId, Trace, physical_address};
use std::collections::BTreeMap;

/// Lines of 64 bytes in a page of 4 KiB.
const PAGE_LINES: u64 = 64;

/// Maximum distance of data from a named region that it belongs to, in lines: 1 MiB.
const GAP_LINES: u64 = 1 << 14;

/// Pages of the threads' return addresses.
pub struct Stacks {
    /// Pages with the thread that stored there last.
    pages: BTreeMap<u64, ThreadId>,
    /// By code block: addresses of its first and last instructions, and of its end.
    blocks: Vec<[u64; 3]>,
    /// By thread: address of a possible return address that its last execution stored, and its
    /// block.
    stored: Vec<Option<(u64, u32)>>,
}

impl Stacks {
    pub fn new(trace: &Trace) -> Stacks {
        let extent = |block: &CodeBlock| {
            let last = block.instructions.last();
            let (last, size) = last.map_or((0, 0), |last| (last.offset, last.size_bytes));
            let last = block.start + u64::from(last);
            [block.start, last, last + u64::from(size)]
        };
        Stacks {
            pages: BTreeMap::new(),
            blocks: trace.code_blocks().iter().map(extent).collect(),
            stored: vec![None; trace.threads().len()],
        }
    }
}

impl StepListener for Stacks {
    fn step(&mut self, step: &ReplayStep<'_>) {
        let execution = step.execution;
        let [start, last, _] = self.blocks[execution.code_block as usize];
        let stored = &mut self.stored[execution.thread.index()];
        // Not every store at the end of a block is a call; after a call, the thread continues
        // elsewhere.
        if let Some((address, before)) = stored.take() {
            let [_, last, end] = self.blocks[before as usize];
            if start != end && start != last {
                self.pages
                    .insert(address / (PAGE_LINES * 64), execution.thread);
            }
        }
        let is_call = |access: &&Access| {
            access.pc == last && access.kind == Kind::Store && access.size_bytes == 8
        };
        let call = execution.accesses.last().filter(is_call);
        *stored = call.map(|access| (access.address, execution.code_block));
    }
}

/// Names of lines.
pub struct Regions<'t> {
    trace: &'t Trace,
    modules: Vec<&'t Module>,
    /// Stacks as first and last page, with the thread.
    stacks: Vec<(u64, u64, ThreadId)>,
}

/// Successive accessed lines of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Index of the first of the lines.
    pub first: usize,
    pub name: String,
}

impl<'t> Regions<'t> {
    /// Pages of one thread's return addresses form one stack if at most [`GAP_LINES`] apart.
    pub fn new(trace: &'t Trace, stacks: &Stacks) -> Regions<'t> {
        let mut modules: Vec<&Module> = trace.modules().iter().collect();
        modules.sort_by_key(|module| module.start);
        let mut found: Vec<(u64, u64, ThreadId)> = Vec::new();
        for (&page, &thread) in &stacks.pages {
            match found.last_mut() {
                Some((_, last, of)) if *of == thread && page - *last <= GAP_LINES / PAGE_LINES => {
                    *last = page;
                }
                _ => found.push((page, page, thread)),
            }
        }
        Regions {
            trace,
            modules,
            stacks: found,
        }
    }

    /// Returns the regions of `lines`, which are ascending.
    pub fn of(&self, lines: &[u64]) -> Vec<Region> {
        let mut regions: Vec<Region> = Vec::new();
        let mut before = None;
        for (place, &line) in lines.iter().enumerate() {
            let near = before.filter(|before| line - before <= GAP_LINES);
            before = Some(line);
            let last = regions.last().map(|region| region.name.clone());
            let name = match self.known(line) {
                Some(name) => name,
                None => match last.filter(|_| near.is_some()) {
                    Some(last) if last.ends_with(" code") => last.replace(" code", " data"),
                    // Memory around a stack is named like the other memory there.
                    Some(last) if !last.starts_with("stack") => last,
                    _ => self.unknown(line),
                },
            };
            if regions.last().is_none_or(|region| region.name != name) {
                regions.push(Region { first: place, name });
            }
        }
        regions
    }

    /// Returns the name of a line in a known mapping.
    fn known(&self, line: u64) -> Option<String> {
        let page = line / PAGE_LINES;
        let after = self.stacks.partition_point(|stack| stack.0 <= page);
        let stack = after.checked_sub(1).map(|place| self.stacks[place]);
        if let Some((.., thread)) = stack.filter(|stack| page <= stack.1) {
            return Some(format!("stack of thread {thread}"));
        }
        let (owner, address) = self.trace.owner(line * 64);
        let after = self
            .modules
            .partition_point(|module| module.start < address + 64);
        let module = after.checked_sub(1).map(|place| self.modules[place]);
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        match (module.filter(|module| address < module.end), owner) {
            (Some(module), _) => Some(format!("{} code", last(&module.path))),
            (None, Owner::Object(object)) => {
                let name = &self.trace.shared_objects()[object as usize];
                Some(format!("{}, shared", last(name)))
            }
            (None, _) => None,
        }
    }

    /// Returns the name of a line of which only the address is known.
    fn unknown(&self, line: u64) -> String {
        if let Some(address) = physical_address(line * 64) {
            return format!("physical memory at {address:#x}");
        }
        match self.trace.owner(line * 64) {
            (Owner::Process(process), address) => {
                format!("heap/mmap of process {process} {address:#x}")
            }
            (_, address) => format!("heap/mmap {address:#x}"),
        }
    }
}
