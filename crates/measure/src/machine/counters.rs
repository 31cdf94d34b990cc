//! Hardware counters of cache misses, for processes that already run.
//!
//! A counter belongs to a thread and to the threads that it starts later. One counter of each kind
//! is therefore opened for every existing thread (perf_event_open(2), with `inherit`). Only user
//! mode is counted, as in a trace. If more kinds are requested than the processor can count at
//! once, the kernel multiplexes them, and counts are scaled to the whole time.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Raw};
use perf_event::{Builder, Counter};
use serde::Serialize;

/// An event that can be counted.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    event: Event,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Hardware(Hardware),
    Cache(CacheId),
    Raw(u64),
    /// Events that the kernel counts, to test the rest without hardware counters.
    #[cfg(test)]
    Software(perf_event::events::Software),
}

/// Count of an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Count {
    /// The event's name.
    pub name: &'static str,
    /// The count, scaled to the whole time.
    pub count: f64,
}

/// L2 misses of fetches and data, in each vendor's encoding. For Intel, L2_RQSTS.MISS of its event
/// lists (Haswell and later). For AMD, L2CacheReqStat of its processor programming references, with
/// the unit masks for instruction and data misses (Zen and later).
const L2_MISSES: [(&str, u64); 2] = [("GenuineIntel", 0x3f24), ("AuthenticAMD", 0x0964)];

/// Returns all events that a processor may be able to count.
fn kinds() -> Vec<Kind> {
    let cache = |name, id| Kind {
        name,
        event: Event::Cache(id),
    };
    let mut kinds = vec![
        Kind {
            name: "instructions",
            event: Event::Hardware(Hardware::INSTRUCTIONS),
        },
        cache("L1I read misses", CacheId::L1I),
        cache("L1D read misses", CacheId::L1D),
    ];
    let vendor = vendor();
    let l2 = L2_MISSES
        .iter()
        .find(|(name, _)| vendor.as_deref() == Some(name));
    kinds.extend(l2.map(|(_, code)| Kind {
        name: "L2 misses",
        event: Event::Raw(*code),
    }));
    kinds.push(Kind {
        name: "last-level misses",
        event: Event::Hardware(Hardware::CACHE_MISSES),
    });
    kinds
}

fn vendor() -> Option<String> {
    use procfs::Current;
    let processors = procfs::CpuInfo::current().ok()?;
    Some(processors.vendor_id(0)?.to_owned())
}

/// Returns the events that this machine lets this process count.
///
/// # Errors
/// Why it allows none.
pub fn available() -> std::io::Result<Vec<Kind>> {
    let tried = kinds().into_iter().map(|kind| (kind, open(kind.event, 0)));
    let (mut available, mut refusal) = (Vec::new(), None);
    for (kind, opened) in tried {
        match opened {
            Ok(_) => available.push(kind),
            Err(error) => refusal = Some(error),
        }
    }
    match refusal {
        Some(refusal) if available.is_empty() => Err(refusal),
        _ => Ok(available),
    }
}

/// Opens a counter of a thread; 0 is the calling thread.
fn open(event: Event, thread: i32) -> std::io::Result<Counter> {
    let mut builder = match event {
        Event::Hardware(event) => Builder::new(event),
        Event::Cache(which) => Builder::new(Cache {
            which,
            operation: CacheOp::READ,
            result: CacheResult::MISS,
        }),
        Event::Raw(code) => Builder::new(Raw::new(code)),
        #[cfg(test)]
        Event::Software(event) => Builder::new(event),
    };
    builder.observe_pid(thread).inherit(true).build()
}

/// Open counters.
pub struct Counting {
    counters: Vec<(&'static str, Vec<Counter>)>,
}

impl Counting {
    /// Starts to count these kinds in all threads of these processes. Skips threads that have
    /// ended.
    ///
    /// # Errors
    /// The system's error if a counter cannot be started.
    pub fn of(kinds: &[Kind], processes: &[u32]) -> std::io::Result<Counting> {
        let threads: Vec<i32> = processes
            .iter()
            .flat_map(|&process| threads_of(process))
            .collect();
        let mut counters = Vec::new();
        for kind in kinds {
            let opened = threads
                .iter()
                .filter_map(|&thread| open(kind.event, thread).ok());
            let mut opened: Vec<Counter> = opened.collect();
            for counter in &mut opened {
                counter.enable()?;
            }
            counters.push((kind.name, opened));
        }
        Ok(Counting { counters })
    }

    /// Reads the counts so far.
    ///
    /// # Errors
    /// The system's error if a counter cannot be read.
    pub fn read(&mut self) -> std::io::Result<Vec<Count>> {
        let mut counts = Vec::new();
        for (name, counters) in &mut self.counters {
            let mut count = 0.0;
            for counter in counters {
                let data = counter.read_full()?;
                let seconds =
                    |time: Option<std::time::Duration>| time.unwrap_or_default().as_secs_f64();
                let (enabled, running) =
                    (seconds(data.time_enabled()), seconds(data.time_running()));
                if running > 0.0 {
                    count += data.count() as f64 * enabled / running;
                }
            }
            counts.push(Count { name, count });
        }
        Ok(counts)
    }
}

fn threads_of(process: u32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let names = tasks
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    /// The kernel itself counts page faults, so machines without hardware counters have them too.
    #[test]
    fn what_a_running_process_and_its_children_do_is_counted() {
        let script = "echo ready; read go; (true | cat); echo done; read end";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut orders = child.stdin.take().unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "ready");
        let faults = Kind {
            name: "faults",
            event: Event::Software(Software::PAGE_FAULTS),
        };
        let mut counting = Counting::of(&[faults], &[child.id()]).unwrap();
        let before = counting.read().unwrap()[0].count;
        writeln!(orders, "go").unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "done");
        let after = counting.read().unwrap()[0].count;
        writeln!(orders, "end").unwrap();
        assert!(child.wait().unwrap().success());
        let is_allowed = open(faults.event, 0).is_ok();
        assert_eq!(before, 0.0);
        assert_eq!(after > 0.0, is_allowed, "{after} faults");
    }
}
