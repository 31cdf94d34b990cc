//! When a part ends: at its share of the time, or when the user interrupts.

use crate::Outcome;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A run that is not over this long after its time is ended from outside its parts.
const GRACE: Duration = Duration::from_secs(30);

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// The time of a run.
pub struct Budget {
    began: Instant,
    whole: Duration,
}

impl Budget {
    /// Begins now.
    pub fn of(seconds: u64) -> Budget {
        Budget {
            began: Instant::now(),
            whole: Duration::from_secs(seconds),
        }
    }

    /// Returns the moment at which this share of the time is used up.
    pub fn at(&self, share: f64) -> Instant {
        self.began + self.whole.mul_f64(share)
    }

    /// Returns the moment at which the run ends in any case.
    pub fn limit(&self) -> Instant {
        self.began + self.whole + GRACE
    }

    pub fn seconds(&self) -> u64 {
        self.whole.as_secs()
    }
}

/// From here on, Ctrl-C, SIGTERM, and SIGHUP are only counted.
pub fn listen() -> Outcome<()> {
    Ok(ctrlc::set_handler(|| {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    })?)
}

/// Returns the number of received signals.
pub fn signals() -> usize {
    SIGNALS.load(Ordering::Relaxed)
}

/// Whether the user has interrupted the run.
pub fn is_over() -> bool {
    signals() > 0
}
