//! The threads and processes of a trace, by their numbers in the files.
//!
//! A number has 64 bits. If several workloads share the cores of one trace, the upper half is the
//! workload's number, and the lower halves may be equal. A trace has 32 bits for a process, so a
//! process of another workload gets an unused number. A thread keeps the lower half of its number.

use crate::ThreadId;
use crate::convert::functions::Calling;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// All process numbers of Linux are below this.
const BEYOND_PROCESSES: u32 = 1 << 22;

/// The state of a thread.
pub(super) struct Thread {
    pub(super) process: u32,
    pub(super) number: u32,
    /// The number in the file.
    whole: u64,
    /// Its number in the trace, once it has executed something.
    pub(super) id: Option<ThreadId>,
    /// The last instruction: its address and size, which is 0 if there was none.
    pub(super) last: (u64, u16),
    /// The address after the last instruction.
    pub(super) next: u64,
    /// Whether the block has ended: the last instruction was a branch, or something intervened.
    pub(super) is_cut: bool,
    /// Whether it has called a function that it has not entered yet.
    pub(super) calling: Calling,
    /// Whether the next instruction is the first of a signal handler.
    pub(super) is_interrupted: bool,
    /// Whether the last marker was the abort of a restartable sequence.
    pub(super) has_aborted: bool,
    /// The function that the next markers refer to.
    pub(super) function: u64,
    /// The CPU that it continues on.
    pub(super) new_cpu: Option<u16>,
    /// The traced window of the run.
    pub(super) window: Option<u64>,
    /// Whether a cache has filtered its records.
    pub(super) is_filtered: bool,
}

/// The threads of a trace.
#[derive(Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// Those that have not exited, by process and thread.
    living: HashMap<(u64, u64), usize>,
    /// The trace's numbers of processes, and the process of each number.
    processes: HashMap<u64, u32>,
    owners: HashMap<u32, u64>,
    /// By the trace's numbers of a process and a thread: the number in the file, and the last
    /// recorded CPU.
    on_cpus: HashMap<(u32, u32), (u64, u16)>,
}

impl Threads {
    /// Returns the thread with this number, of this process.
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

    /// Marks the thread as exited: a later thread with its number is another one.
    pub(super) fn exit(&mut self, process: u64, number: u64) {
        self.living.remove(&(process, number));
    }

    /// Returns the CPU that the thread continues on, if it has changed, and whether it had another
    /// one. If a trace cannot distinguish threads, only the first has a CPU.
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

    /// Returns the trace's number of the process.
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
