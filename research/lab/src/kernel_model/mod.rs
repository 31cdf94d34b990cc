//! A synthetic kernel for traces of user code: footprints of system calls, from a table.
//!
//! A trace of user code records the system calls, but not their effect on the caches. A model adds
//! executions of synthetic code after each call, which fetch and load a number of lines. They are
//! written into a copy of the trace, which is treated like one of a whole machine
//! ([`corehop_simulator::detail::replay_by_mode`]). Its module, functions and note identify them as
//! modelled. `research/kernel-model.md` has the rules; [`soares`] has the table.

pub mod soares;

use corehop_support::format::system_call;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{
    Addition, CodeBlock, Error, Function, Kind, Module, Summary, SystemCall, ThreadId, Trace,
    Watched, Writer, WriterOptions, copy_with,
};
use std::collections::BTreeMap;
use std::path::Path;

/// The module of the synthetic functions; its name identifies it as modelled
/// ([`Module::is_modelled`]).
const MODULE: &str = "[kernel, modelled]";

/// Prefix of their symbols, by which a replay recognises them as system calls.
const SYMBOL: &str = "modelled_";

/// A model: its name, and a function from a call's number to its footprint, if it has any.
pub type Named<'a> = (&'a str, &'a dyn Fn(i32) -> Option<Footprint>);

/// Numbers of distinct lines that a call references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Fetched lines.
    pub code_lines: u64,
    /// Loaded lines, each of which fills a separate way of an L1D.
    pub data_lines: u64,
    /// Lines loaded after these, each of which replaces one of them in the L1D.
    pub further_lines: u64,
}

/// The references of a call, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    /// Fetched lines.
    pub code: Vec<u64>,
    /// Loaded lines, distributed evenly over the fetches.
    pub data: Vec<u64>,
}

/// Addresses of the synthetic code and data; each call has 1 MiB of each.
const CODE: u64 = 0xffff_9000_0000_0000;
const DATA: u64 = 0xffff_a000_0000_0000;
const OF_A_CALL: u64 = 1 << 20;

/// The sets and ways of the L1D of the table: 32 KiB in 8 ways.
const SETS: u64 = 64;
const WAYS: u64 = 8;

impl References {
    /// Computes the references of the call with this number. Data lines fill set after set of an
    /// L1D of 64 sets and 8 ways; further lines map to the full sets, one after the other.
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

    /// Returns each fetch with the loads that follow it.
    fn by_fetch(&self) -> impl Iterator<Item = (u64, &[u64])> {
        let (fetches, loads) = (self.code.len(), self.data.len());
        let code = self.code.iter().enumerate();
        code.map(move |(place, &line)| {
            let own = place * loads / fetches..(place + 1) * loads / fetches;
            (line, &self.data[own])
        })
    }
}

/// Number of calls with separate lines.
const SETS_OF_CALLS: u64 = 1024;

/// Writes a copy of `trace` to `path` in which the call of each number has the footprint of the
/// model, if any. Returns `None` if the copy was cancelled.
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

/// The addition to a copy.
struct Model {
    note: String,
    /// Indexed by the numbers of the calls that were made.
    footprints: BTreeMap<i32, Footprint>,
    calls: BTreeMap<i32, Call>,
}

/// The references of a call, as executions.
struct Call {
    /// Code blocks of one line each, and the addresses that each loads from.
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
