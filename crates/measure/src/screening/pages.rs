//! Measures how much of a process's memory is accessed within windows of time, by the kernel's page
//! bits.
//!
//! Writing 1 to /proc/PID/clear_refs clears the "accessed" bit of all its pages. /proc/PID/smaps
//! then lists, as `Referenced`, what has been accessed since in each mapping (see
//! proc_pid_clear_refs(5) and proc_pid_smaps(5)). A processor sets the bit when it walks the page
//! tables, but not while its TLB holds the page. The TLB must therefore be flushed afterwards.
//! Writing 4, which is meant for another bit, does that. Without it, the most used pages are
//! missing.
//!
//! Windows of several lengths alternate, so that a drift of the load affects all. They get equal
//! time, so that a short load has many short windows. Of several processes, the one that accesses
//! most in a window counts, because each has its own core.

use crate::Error;
use procfs::process::{ClearRefs, MMPermissions, Process};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Window lengths: from a few requests of milliseconds to a second of the load.
const WINDOWS_MS: [u64; 5] = [10, 30, 100, 300, 1000];

/// Interval between checks whether the load is over; all windows are multiples of it.
const STEP_MS: u64 = 10;

/// Minimum samples for a median.
const FEWEST_SAMPLES: usize = 3;

/// Memory that one process accessed, in bytes of whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// In executable mappings.
    pub code_bytes: u64,
    /// In all other mappings.
    pub data_bytes: u64,
}

impl Touched {
    /// Returns the sum of code and data.
    pub fn bytes(self) -> u64 {
        self.code_bytes + self.data_bytes
    }
}

/// Memory accessed in a window of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Length of the window.
    pub milliseconds: u64,
    /// Number of samples.
    pub samples: usize,
    /// The sample with the median of code plus data.
    pub touched: Touched,
}

/// Samples of all windows so far.
#[derive(Default)]
struct Samples {
    /// By window length.
    touched: [Vec<Touched>; WINDOWS_MS.len()],
    has_huge_pages: bool,
}

/// Samples processes repeatedly.
pub(super) struct Sampler<'a> {
    family: &'a (dyn Fn() -> Vec<Process> + Sync),
    samples: Mutex<Samples>,
    is_over: AtomicBool,
}

impl<'a> Sampler<'a> {
    /// Creates a sampler; `family` returns the existing processes.
    pub(super) fn new(family: &'a (dyn Fn() -> Vec<Process> + Sync)) -> Sampler<'a> {
        Sampler {
            family,
            samples: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Samples the processes while `go_on` runs.
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

    /// Samples until the load is over.
    fn look(&self) -> Result<(), procfs::ProcError> {
        let mut spent_ms = [0; WINDOWS_MS.len()];
        loop {
            // Select the length that will have had the least time.
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
                // The process has ended.
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
        // Skip a window in which the load ended: it is incomplete.
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(()));
        }
        if let (Some((touched, is_huge)), Ok(mut samples)) = (most, self.samples.lock()) {
            samples.touched[length].push(touched);
            samples.has_huge_pages |= is_huge;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the windows with enough samples, the shortest first.
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

/// Returns the memory accessed since the bits were cleared, and whether any of it is in huge pages.
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

/// Makes the command's processes use small pages only, for finer results.
pub(super) fn without_huge_ones(command: &mut Command) {
    let disable = || {
        // SAFETY: prctl sets a flag of this process and accesses no memory.
        match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec, it makes one system call and nothing else.
    unsafe { command.pre_exec(disable) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test samples its own process, whose memory it accesses.
    #[test]
    fn pages_that_were_touched_count_and_others_do_not() {
        const PAGES: usize = 4096;
        let mut memory = vec![1_u8; 2 * PAGES * 4096];
        let own = || vec![Process::myself().unwrap()];
        let touch = |memory: &mut [u8]| {
            for page in 0..PAGES {
                // SAFETY: the byte belongs to the slice; the compiler might remove a plain write.
                unsafe { std::ptr::write_volatile(&raw mut memory[page * 4096], 2) };
            }
        };
        let (sampler, ()) = Sampler::new(&own)
            .during(|| {
                // On a slower machine, the longest window and the whole time grow alike.
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
        // In shorter windows, a busy machine may not access all pages.
        let longest = windows.last().unwrap().touched.data_bytes;
        assert!(longest >= (PAGES * 4096) as u64, "{windows:?}");
        for window in &windows {
            let data = window.touched.data_bytes;
            assert!(is_huge || data < (2 * PAGES * 4096) as u64, "{window:?}");
        }
    }
}
