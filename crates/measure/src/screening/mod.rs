//! Estimates in seconds, without an emulator, whether a server is worth recording, from its working
//! set under load.
//!
//! Hops can only help if requests need more than one core's L2. Two checks show that beforehand.
//!
//! First, the kernel sets a bit for each page that is accessed (`pages`). The pages that a
//! process accesses in 10 ms, 30 ms and so on are an upper bound of its requests' need. A page may
//! be accessed for only one of its 64 lines. If all of that fits an L2, no gain is possible;
//! otherwise a recording is needed.
//!
//! Second, if the processor can count misses, the misses times their latencies are the most that
//! hops could save.
//!
//! The load runs twice: once for the counters and once for the bits, because clearing bits costs
//! the server TLB misses. Rejected: sampled addresses. Few machines have precise ones, and a
//! working set needs minutes of them.

mod pages;
mod verdict;

pub use pages::{Touched, Window};
pub use verdict::{Bounds, Screened, Verdict};

use crate::machine::counters::{Count, Counting, Kind};
use crate::server::load::{THROUGHPUT, number};
use crate::server::started::{Started, heed_interrupts};
use crate::server::{UnderLoad, processes_of};
use crate::{Error, Observer};
use corehop_support::processes::{descendants, find};
use pages::Sampler;
use procfs::process::Process;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Interval between checks whether the user wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The server to screen.
pub enum Subject<'a> {
    /// A server that is started for the screening, and its load.
    Started {
        /// Program and arguments.
        command: &'a [OsString],
        /// The load's shell command.
        load: &'a str,
    },
    /// A running process and the processes that it started, under their present load.
    Running {
        /// ID of the first process.
        process: u32,
        /// Duration of each of the two observations, in seconds.
        seconds: f64,
    },
}

/// Setup of a screening.
pub struct Setup<'a> {
    /// The server to screen.
    pub subject: Subject<'a>,
    /// When a started server is ready, and which command fills it with data.
    pub under: &'a UnderLoad,
    /// Events to count.
    pub kinds: &'a [Kind],
    /// Receives the progress.
    pub observer: &'a dyn Observer,
}

/// Result of a screening.
pub struct Found {
    /// Memory accessed, by window length.
    pub windows: Vec<Window>,
    /// Counts of one load, in user mode.
    pub counts: Vec<Count>,
    /// CPU time of all the server's processes during that load.
    pub busy: Busy,
    /// Duration of that load, in seconds.
    pub seconds: f64,
    /// Throughput that the load reported.
    pub throughput: Option<f64>,
    /// Whether memory was in huge pages, each of which counts as a whole.
    pub has_huge_pages: bool,
}

/// CPU time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// Screens a server.
///
/// # Errors
/// Failures of the server or its load; [`Error::NoPages`], [`Error::NoProcess`] and
/// [`Error::TooShort`].
pub fn screen(setup: &Setup<'_>) -> Result<Found, Error> {
    match setup.subject {
        Subject::Started { command, load } => started(setup, command, load),
        Subject::Running { process, seconds } => {
            let wait = || wait(setup.observer, seconds);
            let family = || family_of(process);
            if family().is_empty() {
                return Err(Error::NoProcess { process });
            }
            setup.observer.begin("counting", None);
            let counted = counted(setup.kinds, &family(), || wait().map(|()| None));
            setup.observer.end();
            let (counts, busy, none) = counted?;
            setup.observer.begin("looking at pages", None);
            let sampled = Sampler::new(&family).during(wait);
            setup.observer.end();
            let (sampler, ()) = sampled?;
            found(&sampler, (counts, busy, seconds), none)
        }
    }
}

fn started(setup: &Setup<'_>, words: &[OsString], load: &str) -> Result<Found, Error> {
    let folder = corehop_support::atomic_file::private_folder().map_err(Error::NoFolder)?;
    let mut command = Command::new(find(&words[0])?);
    command.arg0(&words[0]).args(&words[1..]);
    pages::without_huge_ones(&mut command);
    let observer = setup.observer;
    let mut server = Started::spawn(&mut command, setup.under, observer, folder.path())?;
    observer.begin("starting and filling the server", None);
    let prepared = server.prepare(load);
    observer.end();
    prepared?;
    observer.begin("counting under load", None);
    let ancestor = server.ancestor();
    let family = || processes_of(&descendants(ancestor));
    let counted = counted(setup.kinds, &family(), || server.load(load).map(Some));
    observer.end();
    let (counts, busy, loaded) = counted?;
    let (printed, seconds) = loaded.unwrap_or_default();
    observer.begin("looking at pages under load", None);
    let sampled = Sampler::new(&family).during(|| server.load(load));
    observer.end();
    let (sampler, _) = sampled?;
    server.end();
    let expression = setup.under.throughput.as_ref();
    let told = expression.map(|expression| number((THROUGHPUT, expression), &printed));
    found(&sampler, (counts, busy, seconds), told.transpose()?)
}

/// Counts events in these processes while `go_on` runs; also measures their CPU time.
fn counted<T>(
    kinds: &[Kind],
    processes: &[Process],
    go_on: impl FnOnce() -> Result<T, Error>,
) -> Result<(Vec<Count>, Busy, T), Error> {
    let numbers: Vec<u32> = processes.iter().map(|p| p.pid().cast_unsigned()).collect();
    let mut counting = Counting::of(kinds, &numbers).ok();
    let before = busy(processes);
    let result = go_on()?;
    let after = busy(processes);
    let counts = counting.as_mut().and_then(|counting| counting.read().ok());
    // A process that has ended no longer contributes its CPU time.
    let busy = Busy {
        user: (after.user - before.user).max(0.0),
        system: (after.system - before.system).max(0.0),
    };
    Ok((counts.unwrap_or_default(), busy, result))
}

fn found(
    sampler: &Sampler<'_>,
    (counts, busy, seconds): (Vec<Count>, Busy, f64),
    throughput: Option<f64>,
) -> Result<Found, Error> {
    let windows = sampler.windows();
    match windows.is_empty() {
        true => Err(Error::TooShort { seconds }),
        false => Ok(Found {
            windows,
            counts,
            busy,
            seconds,
            throughput,
            has_huge_pages: sampler.has_huge_pages(),
        }),
    }
}

fn wait(observer: &dyn Observer, seconds: f64) -> Result<(), Error> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end {
        heed_interrupts(observer)?;
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Returns the time that these processes have run.
pub(crate) fn busy(processes: &[Process]) -> Busy {
    let second = procfs::ticks_per_second() as f64;
    let stats = processes.iter().filter_map(|process| process.stat().ok());
    stats.fold(Busy::default(), |busy, stat| Busy {
        user: busy.user + stat.utime as f64 / second,
        system: busy.system + stat.stime as f64 / second,
    })
}

/// Returns a process and all its living descendants.
fn family_of(first: u32) -> Vec<Process> {
    let mut family = vec![first];
    family.extend(descendants(first));
    processes_of(&family)
}
