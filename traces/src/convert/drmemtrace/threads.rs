//! Whose records these are: the threads and processes of a trace, by the numbers that files have.
//!
//! A number has 64 bits: where several workloads share the cores of one trace, the upper half is
//! the workload's, and the lower halves may be equal. A trace has 32 bits for a process, so a
//! process of another workload gets a number that none has. A thread keeps the lower half of its
//! own.

use crate::ThreadId;
use crate::convert::functions::Calling;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Linux numbers no process so high, or higher.
const BEYOND_PROCESSES: u32 = 1 << 22;

/// A thread, as far as it is read.
pub(super) struct Thread {
    pub(super) process: u32,
    pub(super) number: u32,
    /// The file's number.
    whole: u64,
    /// Its number in the trace, once it has done something.
    pub(super) id: Option<ThreadId>,
    /// The last instruction: its address and size, which is 0 where there was none.
    pub(super) last: (u64, u16),
    /// Where the instruction after it lies.
    pub(super) next: u64,
    /// Nothing joins the last instruction: it was a branch, or something came in between.
    pub(super) is_cut: bool,
    /// Whether it has called a function that it has not entered yet.
    pub(super) calling: Calling,
    /// The next instruction is a signal handler's first.
    pub(super) is_interrupted: bool,
    /// The last marker said that a restartable sequence was aborted.
    pub(super) has_aborted: bool,
    /// What the next markers tell of.
    pub(super) function: u64,
    /// On which CPU it goes on.
    pub(super) new_cpu: Option<u16>,
    /// The part of the run that was traced.
    pub(super) window: Option<u64>,
    /// A cache has filtered what is told of it.
    pub(super) is_filtered: bool,
}

/// The threads of a trace.
#[derive(Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// Those that have not exited, by process and thread.
    living: HashMap<(u64, u64), usize>,
    /// The trace's numbers of processes, and whose they are.
    processes: HashMap<u64, u32>,
    owners: HashMap<u32, u64>,
    /// By the trace's numbers of a process and a thread, whose they are, and on which CPU the trace
    /// was told that it is.
    on_cpus: HashMap<(u32, u32), (u64, u16)>,
}

impl Threads {
    /// The thread with this number, of this process.
    pub(super) fn find(&mut self, process: u64, number: u64, is_filtered: bool) -> usize {
        if let Some(&thread) = self.living.get(&(process, number)) {
            return thread;
        }
        let process_number = self.process(process);
        self.threads.push(Thread {
            process: process_number,
            number: number as u32,
            whole: number,
            id: None,
            last: (0, 0),
            next: 0,
            is_cut: true,
            calling: Calling::No,
            is_interrupted: false,
            has_aborted: false,
            function: 0,
            new_cpu: None,
            window: None,
            is_filtered,
        });
        let thread = self.threads.len() - 1;
        self.living.insert((process, number), thread);
        thread
    }

    /// The thread has exited: who has its number later is another one.
    pub(super) fn exit(&mut self, process: u64, number: u64) {
        self.living.remove(&(process, number));
    }

    /// On which CPU the thread goes on, where that is news, and whether it was elsewhere before. Of
    /// threads that a trace cannot tell apart only the first has a CPU.
    pub(super) fn news_of_cpu(&mut self, thread: usize) -> Option<(u16, bool)> {
        let of = &mut self.threads[thread];
        let cpu = of.new_cpu.take()?;
        match self.on_cpus.entry((of.process, of.number)) {
            Entry::Vacant(entry) => {
                entry.insert((of.whole, cpu));
                Some((cpu, false))
            }
            Entry::Occupied(mut entry) => {
                let (owner, told) = entry.get_mut();
                let is_news = *owner == of.whole && *told != cpu;
                is_news.then(|| {
                    *told = cpu;
                    (cpu, true)
                })
            }
        }
    }

    pub(super) fn of(&mut self, thread: usize) -> &mut Thread {
        &mut self.threads[thread]
    }

    /// The number that a trace has for the process.
    fn process(&mut self, process: u64) -> u32 {
        if let Some(&known) = self.processes.get(&process) {
            return known;
        }
        let mut number = process as u32;
        if self.owners.contains_key(&number) {
            let workload = (process >> 32) as u32;
            number = number.wrapping_add(workload.wrapping_mul(BEYOND_PROCESSES));
        }
        while self.owners.contains_key(&number) {
            number = number.wrapping_add(1).max(BEYOND_PROCESSES);
        }
        self.owners.insert(number, process);
        self.processes.insert(process, number);
        number
    }
}
