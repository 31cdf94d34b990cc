//! The same experiment as a trace, replayed on a description of this machine.
//!
//! The trace is that of a recording of the program, without the program's own stack. It has the
//! same paths, and sessions that alternate as in the program. Two cores work at the same time: some
//! accesses of one and then of the other. The simulator knows neither this machine's real cache
//! latencies nor that a session may have to wait for a core.

use crate::found::Ways;
use crate::patched::{Outcome, Program};
use crate::point::Point;
use corehop_simulator::{CoreId, Machine, Replayer, Split};
use corehop_traces::{
    CodeBlock, EndReason, Function, FunctionId, Header, Kind, Module, ThreadId, Trace, Writer,
    WriterOptions,
};
use std::collections::VecDeque;
use std::path::Path;

/// Accesses per execution, after which the other core continues.
const TOUCHES: usize = 16;
/// Simulated accesses; the first half of them warms up.
const SIMULATED: usize = 1 << 20;
/// Guest addresses of the phases' buffers: 1 GiB apart.
const BUFFERS: u64 = 1 << 30;

/// Returns the simulated accesses per million cycles at a point; `None` on a machine whose caches
/// the kernel does not describe.
pub fn rates(program: &Program, point: Point) -> Outcome<Option<Ways>> {
    let Ok(mut machine) = Machine::named_or_path("host") else {
        return Ok(None);
    };
    let paths = [path(program, point, 0)?, path(program, point, 1)?];
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("staged.trace");
    // With more sessions than cores, some wait for each core that another migrates to.
    let by_affinity = match point.sessions > 2 {
        true => machine.busy_hop_cost_cycles,
        false => machine.hop_cost_cycles,
    };
    let hops = [machine.carried_hop_cycles(), by_affinity];
    let mut rate = |split: &Split, hop_cycles: u32| {
        machine.hop_cost_cycles = hop_cycles;
        replay(&file, &machine, split)
    };
    write(&file, &paths, point, false)?;
    let in_place = rate(&Split::thread_per_core(2), 0)?;
    write(&file, &paths, point, true)?;
    let split = Split::new([0, 1].map(|index| (FunctionId(index), CoreId(index))));
    let [carrier, affinity] = hops.map(|hop| rate(&split, hop));
    Ok(Some([in_place, carrier?, affinity?]))
}

/// Returns a phase's path: each element's offset in the buffer, and whether it is written.
fn path(program: &Program, point: Point, phase: u32) -> Outcome<Vec<(u64, bool)>> {
    let elements = program.run(None, &point.words("list", phase, program))?;
    let element = |value: f64| (value as u64 / 2 * 4, value as u64 % 2 == 1);
    Ok(elements.into_iter().map(element).collect())
}

/// State of a session: its positions on both paths, and the rest of its current phase.
struct Session {
    thread: ThreadId,
    phase: usize,
    left: usize,
    at: [usize; 2],
}

fn write(file: &Path, paths: &[Vec<(u64, bool)>; 2], point: Point, delegated: bool) -> Outcome<()> {
    let mut writer = Writer::create(file, &Header::default(), &WriterOptions::default())?;
    let blocks = define(&mut writer)?;
    let threads = if delegated { point.sessions } else { 2 };
    for thread in 0..threads {
        writer.thread(1, thread + 1)?;
    }
    // Delegated, a core serves the sessions of its phase; in place, its own sessions, one turn
    // each.
    let mut queues = [VecDeque::new(), VecDeque::new()];
    for number in 0..point.sessions as usize {
        let at = |phase: usize| number * 7919 % paths[phase].len();
        queues[if delegated { 0 } else { number % 2 }].push_back(Session {
            thread: ThreadId::from_index(if delegated { number } else { number % 2 }),
            phase: 0,
            left: point.touches as usize,
            at: [at(0), at(1)],
        });
    }
    let mut stamp = 0;
    for _ in 0..SIMULATED / TOUCHES / 2 {
        for core in 0..2 {
            let Some(mut session) = queues[core].pop_front() else {
                continue;
            };
            stamp += 1;
            writer.stamp(session.thread, stamp)?;
            session.run(&mut writer, blocks, paths, point.touches as usize)?;
            let is_new_phase = session.left == 0;
            if is_new_phase {
                session.left = point.touches as usize;
                session.phase = 1 - session.phase;
            }
            let is_over = is_new_phase && (delegated || session.phase == 0);
            match (is_over, delegated) {
                (false, _) => queues[core].push_front(session),
                (true, true) => queues[session.phase].push_back(session),
                (true, false) => queues[core].push_back(session),
            }
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

impl Session {
    /// Writes some accesses of the phase; the first of them include the function's entry.
    fn run(
        &mut self,
        writer: &mut Writer,
        blocks: [[u32; 2]; 2],
        paths: &[Vec<(u64, bool)>; 2],
        touches: usize,
    ) -> Outcome<()> {
        let phase = self.phase;
        let [entry, body] = blocks[phase];
        if self.left == touches {
            writer.execution(self.thread, entry)?;
        }
        writer.execution(self.thread, body)?;
        let now = self.left.min(TOUCHES);
        for touch in 0..now {
            let (distance, is_written) = paths[phase][self.at[phase]];
            let address = BUFFERS * (phase as u64 + 1) + distance;
            let place = 2 * touch as u16;
            writer.data(self.thread, place, Kind::Load, 4, address)?;
            if is_written {
                writer.data(self.thread, place + 1, Kind::Store, 4, address)?;
            }
            self.at[phase] = (self.at[phase] + 1) % paths[phase].len();
        }
        self.left -= now;
        Ok(())
    }
}

/// Defines two functions, each with one block that enters it and one that takes steps.
fn define(writer: &mut Writer) -> Outcome<[[u32; 2]; 2]> {
    writer.module(&Module {
        path: "staged".into(),
        build_id: String::new(),
        load_bias: 0,
        start: 0,
        end: BUFFERS,
    })?;
    let mut blocks = [[0; 2]; 2];
    for (phase, blocks) in (0..).zip(&mut blocks) {
        let start = 4096 * (phase + 1);
        let name = ["first_phase", "second_phase"][phase as usize];
        let function = writer.function(&Function {
            module: 0,
            offset: start,
            size_bytes: 256,
            symbol: name.into(),
            name: name.into(),
            unpatchable: None,
        })?;
        let entry = writer.code_block(&CodeBlock::new(start, [2]), Some(function))?;
        let body = CodeBlock::new(start + 64, [2; 2 * TOUCHES]);
        let body = writer.code_block(&body, None)?;
        *blocks = [entry, body];
    }
    Ok(blocks)
}

/// Returns the accesses per million cycles of the busiest core, in the trace's second half.
fn replay(file: &Path, machine: &Machine, split: &Split) -> Outcome<f64> {
    let trace = Trace::open(file)?;
    let mut replayer = Replayer::new(machine, split)?;
    let mut executions = trace.executions();
    let (mut count, mut touches) = (0, 0);
    while let Some(execution) = executions.next()? {
        count += 1;
        if count == SIMULATED / TOUCHES / 2 {
            replayer.start_counting();
            touches = 0;
        }
        let loads = execution.accesses.iter().filter(|a| a.kind == Kind::Load);
        touches += loads.count();
        replayer.execute(&execution);
    }
    let replay = replayer.finish();
    let cycles = replay.per_core.iter().map(|core| core.cycles).max();
    Ok(touches as f64 * 1e6 / cycles.unwrap_or(1).max(1) as f64)
}
