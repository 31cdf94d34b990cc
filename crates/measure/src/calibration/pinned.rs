//! Runs work on one CPU, on a separate thread, so that the rest of the process is not pinned.

use crate::calibration::error::Error;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Pins the calling thread to a CPU.
pub fn pin(cpu: usize) -> Result<(), Error> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).map_err(|error| Error::Pin {
        cpu,
        source: error.into(),
    })
}

/// Runs `work` on that CPU.
pub fn on<T: Send>(cpu: usize, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            pin(cpu)?;
            work()
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_support::topology::allowed;

    #[test]
    fn work_runs_on_its_cpu_and_leaves_the_caller_where_it_may_be() {
        let before = allowed();
        let last = *before.last().unwrap();
        assert_eq!(on(last, || Ok(allowed())).unwrap(), [last]);
        assert_eq!(allowed(), before);
        let nowhere = CpuSet::MAX_CPU - 1;
        let refused = on(nowhere, || Ok(()));
        assert_eq!(refused.is_err(), !before.contains(&nowhere));
    }
}
