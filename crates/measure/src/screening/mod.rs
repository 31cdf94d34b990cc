//! Whether a server is worth recording: what it touches under load, told in seconds and without an
//! emulator.
//!
//! Hops pay where requests need more than one core's L2 holds. Two things say so beforehand. The
//! kernel keeps a bit for each page that is set when the page is accessed ([`pages`]): how many
//! pages a process touches in 10 ms, 30 ms and so on is at least what its requests need, since a
//! page may be touched for one of its 64 lines. Where all of that fits an L2 there is nothing to
//! gain; where it does not, a recording will tell. And where the processor lets its misses be
//! counted, misses by their latencies are the most that hops could save. The load runs twice, once
//! counted and once with the bits being cleared, since clearing them costs the server TLB misses.
//! Rejected: sampled addresses, of which few machines have precise ones, and which need minutes to
//! tell a working set.

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

/// How often it is looked whether the user wants the end.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is screened.
pub enum Subject<'a> {
    /// A server that is started for it, and its load.
    Started {
        /// Its program and arguments.
        command: &'a [OsString],
        /// What loads it.
        load: &'a str,
    },
    /// A process that runs, with those that it started, under the load that it has anyway.
    Running {
        /// The first process's number.
        process: u32,
        /// How long to look at it, twice.
        seconds: f64,
    },
}

/// How a server is screened.
pub struct Setup<'a> {
    /// Which one.
    pub subject: Subject<'a>,
    /// When a started one is ready, and what fills it.
    pub under: &'a UnderLoad,
    /// What is counted.
    pub kinds: &'a [Kind],
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// What was found.
pub struct Found {
    /// What was touched, by length of time.
    pub windows: Vec<Window>,
    /// What the processor counted during one load, in user mode.
    pub counts: Vec<Count>,
    /// Processor time of all its processes during that load.
    pub busy: Busy,
    /// How long that load took.
    pub seconds: f64,
    /// What the load said of throughput.
    pub throughput: Option<f64>,
    /// Whether the kernel had put memory into huge pages, each of which counts whole.
    pub has_huge_pages: bool,
}

/// Processor time, in seconds.
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
/// What the server or its load failed by; [`Error::NoPages`], [`Error::NoProcess`] and
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

/// Counts in these processes while something goes on: also their processor time meanwhile.
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
    // A process that has ended meanwhile has taken its time with it.
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

fn busy(processes: &[Process]) -> Busy {
    let second = procfs::ticks_per_second() as f64;
    let stats = processes.iter().filter_map(|process| process.stat().ok());
    stats.fold(Busy::default(), |busy, stat| Busy {
        user: busy.user + stat.utime as f64 / second,
        system: busy.system + stat.stime as f64 / second,
    })
}

/// A process and all that it and they have started, as far as they live.
fn family_of(first: u32) -> Vec<Process> {
    let mut family = vec![first];
    family.extend(descendants(first));
    processes_of(&family)
}
