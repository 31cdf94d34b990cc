//! How much of a process's memory is touched within windows of time, by the kernel's bits of pages.
//!
//! Writing 1 to /proc/PID/clear_refs clears the bit "accessed" of all its pages; what has been
//! accessed since stands in /proc/PID/smaps under `Referenced`, mapping by mapping (see
//! proc_pid_clear_refs(5) and proc_pid_smaps(5)). A processor sets the bit when it walks the page
//! tables, and not while its TLB has the page, so the TLB must be flushed after: writing 4, which
//! is for another bit, does that. Without it the pages that are used most are missing.
//!
//! Windows of several lengths take turns, so that a drift of the load falls on all, and get the
//! same time, so that a short load has many short ones. Of several processes the one that touches
//! most in a window counts: each has its own, on a core of its own.

use crate::Error;
use procfs::process::{ClearRefs, MMPermissions, Process};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From a few requests of milliseconds up to whatever a load does in a second.
const WINDOWS_MS: [u64; 5] = [10, 30, 100, 300, 1000];

/// How often it is looked whether the load is over; all windows are multiples of it.
const STEP_MS: u64 = 10;

/// A median of fewer samples is none.
const FEWEST_SAMPLES: usize = 3;

/// What one process touched, in bytes of whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Of mappings that can be executed.
    pub code_bytes: u64,
    /// Of all others.
    pub data_bytes: u64,
}

impl Touched {
    /// Code and data together.
    pub fn bytes(self) -> u64 {
        self.code_bytes + self.data_bytes
    }
}

/// What is touched in a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How long.
    pub milliseconds: u64,
    /// How often it was looked.
    pub samples: usize,
    /// The sample with the median sum.
    pub touched: Touched,
}

/// What is known of all windows so far.
#[derive(Default)]
struct Samples {
    /// By length.
    touched: [Vec<Touched>; WINDOWS_MS.len()],
    has_huge_pages: bool,
}

/// Looks at processes again and again.
pub(super) struct Sampler<'a> {
    family: &'a (dyn Fn() -> Vec<Process> + Sync),
    samples: Mutex<Samples>,
    is_over: AtomicBool,
}

impl<'a> Sampler<'a> {
    /// `family` gives the processes that there are.
    pub(super) fn new(family: &'a (dyn Fn() -> Vec<Process> + Sync)) -> Sampler<'a> {
        Sampler {
            family,
            samples: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Looks at them while something goes on.
    pub(super) fn during<T>(
        self,
        go_on: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(Self, T), Error> {
        let (looked, result) = std::thread::scope(|scope| {
            let looking = scope.spawn(|| self.look());
            let result = go_on();
            self.is_over.store(true, Ordering::Relaxed);
            let looked = looking.join();
            (
                looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                result,
            )
        });
        let result = result?;
        looked.map_err(Error::NoPages)?;
        Ok((self, result))
    }

    /// Until it is over.
    fn look(&self) -> Result<(), procfs::ProcError> {
        let mut spent_ms = [0; WINDOWS_MS.len()];
        loop {
            // The one that would then have had the least time.
            let after = |length: &usize| spent_ms[*length] + WINDOWS_MS[*length];
            let length = (0..WINDOWS_MS.len()).min_by_key(after).unwrap_or(0);
            spent_ms[length] += WINDOWS_MS[length];
            if self.look_once(length)?.is_break() {
                return Ok(());
            }
        }
    }

    fn look_once(&self, length: usize) -> Result<ControlFlow<()>, procfs::ProcError> {
        let family = (self.family)();
        let mut cleared = Vec::new();
        for process in family {
            let all = process.clear_refs(ClearRefs::PGReferencedAll);
            match all.and_then(|()| process.clear_refs(ClearRefs::SoftDirty)) {
                Ok(()) => cleared.push(process),
                // It has ended since.
                Err(procfs::ProcError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        for _ in 0..WINDOWS_MS[length] / STEP_MS {
            std::thread::sleep(Duration::from_millis(STEP_MS));
            if self.is_over.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
        }
        let read = cleared.iter().filter_map(|process| touched(process).ok());
        let most = read.max_by_key(|(touched, _)| touched.bytes());
        // A window in which the load ended is no whole one.
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(()));
        }
        if let (Some((touched, is_huge)), Ok(mut samples)) = (most, self.samples.lock()) {
            samples.touched[length].push(touched);
            samples.has_huge_pages |= is_huge;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The windows of which there are enough samples, the shortest first.
    pub(super) fn windows(&self) -> Vec<Window> {
        let Ok(samples) = self.samples.lock() else {
            return Vec::new();
        };
        let of_length = WINDOWS_MS.into_iter().zip(&samples.touched);
        let windows = of_length.filter_map(|(milliseconds, samples)| {
            let mut sorted = samples.clone();
            sorted.sort_by_key(|touched| touched.bytes());
            let touched = *sorted.get(sorted.len() / 2)?;
            (sorted.len() >= FEWEST_SAMPLES).then_some(Window {
                milliseconds,
                samples: sorted.len(),
                touched,
            })
        });
        windows.collect()
    }

    pub(super) fn has_huge_pages(&self) -> bool {
        self.samples
            .lock()
            .is_ok_and(|samples| samples.has_huge_pages)
    }
}

/// What a process has touched since its bits were cleared, and whether it has huge pages.
fn touched(process: &Process) -> Result<(Touched, bool), procfs::ProcError> {
    let mut touched = Touched::default();
    let mut is_huge = false;
    for map in &process.smaps()? {
        let sizes = &map.extension.map;
        let bytes = sizes.get("Referenced").copied().unwrap_or_default();
        match map.perms.contains(MMPermissions::EXECUTE) {
            true => touched.code_bytes += bytes,
            false => touched.data_bytes += bytes,
        }
        is_huge |= sizes.get("AnonHugePages").is_some_and(|&bytes| bytes > 0);
    }
    Ok((touched, is_huge))
}

/// Has the kernel give the command's processes small pages only, so that each tells more.
pub(super) fn without_huge_ones(command: &mut Command) {
    let disable = || {
        // SAFETY: prctl sets a flag of this process and touches no memory.
        match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec it makes one system call and nothing else.
    unsafe { command.pre_exec(disable) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This very process, whose memory the test touches itself.
    #[test]
    fn pages_that_were_touched_count_and_others_do_not() {
        const PAGES: usize = 4096;
        let mut memory = vec![1_u8; 2 * PAGES * 4096];
        let own = || vec![Process::myself().unwrap()];
        let touch = |memory: &mut [u8]| {
            for page in 0..PAGES {
                // SAFETY: the byte is the slice's own; a plain write might be left out.
                unsafe { std::ptr::write_volatile(&raw mut memory[page * 4096], 2) };
            }
        };
        let (sampler, ()) = Sampler::new(&own)
            .during(|| {
                // As a machine gets slower, the longest window gets longer with the whole time.
                let end = std::time::Instant::now() + Duration::from_millis(2500);
                let mut rounds = 0;
                while rounds < 500 || std::time::Instant::now() < end {
                    touch(&mut memory);
                    rounds += 1;
                }
                Ok(())
            })
            .unwrap();
        let windows = sampler.windows();
        assert_eq!(windows[0].milliseconds, 10);
        let is_huge = sampler.has_huge_pages();
        // In the shorter ones a busy machine may not let all be touched.
        let longest = windows.last().unwrap().touched.data_bytes;
        assert!(longest >= (PAGES * 4096) as u64, "{windows:?}");
        for window in &windows {
            let data = window.touched.data_bytes;
            assert!(is_huge || data < (2 * PAGES * 4096) as u64, "{window:?}");
        }
    }
}
