//! A made-up kernel for traces of user code: footprints of system calls, taken from a table.
//!
//! A trace of user code tells which system calls were made, and nothing of what they did to the
//! caches. A model puts executions of code that never was after each call: so many lines fetched
//! from and loaded. It is written into a copy of the trace, which everything else takes as one of a
//! machine ([`corehop_simulator::detail::replay_by_mode`]), and whose module, functions and note
//! say what they are. `research/kernel-model.md` has the rules; [`soares`] has the table.

pub mod soares;

use corehop_support::format::system_call;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{
    Addition, CodeBlock, Error, Function, Kind, Module, Summary, SystemCall, ThreadId, Trace,
    Watched, Writer, WriterOptions, copy_with,
};
use std::collections::BTreeMap;
use std::path::Path;

/// The module that the made-up functions are in: by its name everybody knows that it is modelled
/// ([`Module::is_modelled`]).
const MODULE: &str = "[kernel, modelled]";

/// What the names of their symbols begin with, by which a replay knows them as system calls.
const SYMBOL: &str = "modelled_";

/// A model: its name, and the footprint of the call of each number, if it has any.
pub type Named<'a> = (&'a str, &'a dyn Fn(i32) -> Option<Footprint>);

/// Distinct lines that a call references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Fetched from.
    pub code_lines: u64,
    /// Loaded, each of which takes a place of its own in an L1D.
    pub data_lines: u64,
    /// Loaded after these, each of which takes the place of one of them there.
    pub further_lines: u64,
}

/// What a call references, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    /// Lines fetched from.
    pub code: Vec<u64>,
    /// Lines loaded: so many of them after each fetch as spreads them evenly.
    pub data: Vec<u64>,
}

/// Where the made-up code is, and behind it the data; each call has a mebibyte of either.
const CODE: u64 = 0xffff_9000_0000_0000;
const DATA: u64 = 0xffff_a000_0000_0000;
const OF_A_CALL: u64 = 1 << 20;

/// The sets and ways of the L1D that the table is of: 32 KiB in 8 ways.
const SETS: u64 = 64;
const WAYS: u64 = 8;

impl References {
    /// Of the call of this number. Data lines fill set after set of an L1D of 64 sets and 8 ways;
    /// further lines go to those sets that are full, one after the other.
    pub fn of(number: i32, footprint: &Footprint) -> References {
        let number = u64::try_from(number).unwrap_or(0) % SETS_OF_CALLS;
        let (code, data) = (CODE + number * OF_A_CALL, DATA + number * OF_A_CALL);
        let [code, data] = [code, data].map(|start| start >> LINE_SHIFT);
        let first_set = number * WAYS % SETS;
        let in_set = |set: u64, place: u64| data + (first_set + set) % SETS + place * SETS;
        let full_sets = (footprint.data_lines / WAYS).max(1);
        let own = (0..footprint.data_lines).map(|line| in_set(line / WAYS, line % WAYS));
        let further = (0..footprint.further_lines)
            .map(|line| in_set(line % full_sets, WAYS + line / full_sets));
        References {
            code: (0..footprint.code_lines)
                .map(|line| code + first_set + line)
                .collect(),
            data: own.chain(further).collect(),
        }
    }

    /// Each fetch, and the loads that follow it.
    fn by_fetch(&self) -> impl Iterator<Item = (u64, &[u64])> {
        let (fetches, loads) = (self.code.len(), self.data.len());
        let code = self.code.iter().enumerate();
        code.map(move |(place, &line)| {
            let own = place * loads / fetches..(place + 1) * loads / fetches;
            (line, &self.data[own])
        })
    }
}

/// Numbers of calls that have lines of their own.
const SETS_OF_CALLS: u64 = 1024;

/// Writes a copy of `trace` to `path` in which a call of each number has the footprint that the
/// model says, if any; `None` where whoever is asked has said no.
///
/// # Errors
/// Those of [`corehop_traces::copy_chosen`].
pub fn write(
    trace: &Trace,
    (name, footprint_of): Named<'_>,
    path: &Path,
    watched: Watched<'_>,
) -> Result<Option<Summary>, Error> {
    let threads = (0..trace.threads().len()).map(ThreadId::from_index);
    let calls = threads.flat_map(|thread| trace.system_calls(thread));
    let footprints = calls.filter_map(|call| Some((call.number, footprint_of(call.number)?)));
    let mut model = Model {
        note: format!("what the kernel does is modelled after {name}: it was not recorded"),
        footprints: footprints.collect(),
        calls: BTreeMap::new(),
    };
    copy_with(trace, path, &WriterOptions::default(), watched, &mut model)
}

/// What is added to a copy.
struct Model {
    note: String,
    /// By number of the calls that were made.
    footprints: BTreeMap<i32, Footprint>,
    calls: BTreeMap<i32, Call>,
}

/// What a call references, as executions.
struct Call {
    /// Code blocks, a line each, and the addresses that each loads from.
    blocks: Vec<(u32, Vec<u64>)>,
}

impl Addition for Model {
    fn define(&mut self, trace: &Trace, writer: &mut Writer) -> Result<(), Error> {
        let module = writer.module(&Module {
            path: MODULE.into(),
            build_id: String::new(),
            load_bias: 0,
            start: CODE,
            end: CODE + SETS_OF_CALLS * OF_A_CALL,
        })?;
        writer.note(trace.requests().len() as u64, &self.note)?;
        for (&number, footprint) in &self.footprints {
            let references = References::of(number, footprint);
            let name = system_call::name(number);
            let start = references.code.first().map_or(0, |line| line << LINE_SHIFT);
            let entered = writer.function(&Function {
                module,
                offset: start,
                size_bytes: footprint.code_lines << LINE_SHIFT,
                symbol: format!("{SYMBOL}{name}"),
                name: format!("{name} (modelled)"),
                unpatchable: Some("it was never there".into()),
            })?;
            let mut blocks = Vec::new();
            for (place, (line, loads)) in references.by_fetch().enumerate() {
                let block = CodeBlock::new(line << LINE_SHIFT, [4; 16]);
                let block = writer.code_block(&block, (place == 0).then_some(entered))?;
                blocks.push((block, loads.iter().map(|line| line << LINE_SHIFT).collect()));
            }
            self.calls.insert(number, Call { blocks });
        }
        Ok(())
    }

    fn after(
        &mut self,
        writer: &mut Writer,
        thread: ThreadId,
        call: &SystemCall,
    ) -> Result<(), Error> {
        for (block, loads) in self.calls.get(&call.number).iter().flat_map(|c| &c.blocks) {
            writer.execution(thread, *block)?;
            for &address in loads {
                writer.data(thread, 0, Kind::Load, 8, address)?;
            }
        }
        Ok(())
    }
}
