//! What recording makes of a request: the server's processor time for one, instrumented and not.
//!
//! A recording that takes every request has nothing to compare with, and says what one takes. Where
//! some are left alone, long enough for the instrumentation to go, the ratio of both is the
//! slowdown, as QEMU goes without corehop. Rejected: seconds by the clock, which are the load's as
//! much as the server's.

use std::time::Duration;

/// After the instrumentation has gone, so long passes uncounted: code is translated anew.
const SETTLING: Duration = Duration::from_secs(1);
/// Fewer requests than this, or less time in clock ticks of 10 ms, say nothing.
const LEAST_REQUESTS: u64 = 20;
const LEAST_CPU: Duration = Duration::from_millis(200);

/// How things stand at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Since the server was started.
    pub at: Duration,
    /// The server's processor time.
    pub cpu: Duration,
    /// Requests that the server has begun.
    pub requests: u64,
    /// Whether what the server runs is instrumented, as far as can be told.
    pub instrumented: bool,
}

/// Requests and what they took.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    requests: u64,
    cpu: Duration,
}

impl Sum {
    fn seconds_a_request(&self) -> Option<f64> {
        let enough = self.requests >= LEAST_REQUESTS && self.cpu >= LEAST_CPU;
        enough.then(|| self.cpu.as_secs_f64() / self.requests as f64)
    }
}

/// Both kinds of requests so far.
#[derive(Debug, Default)]
pub struct Costs {
    last: Option<Moment>,
    instrumented: Sum,
    bare: Sum,
    /// Until then what is not instrumented is not counted.
    settled: Duration,
}

impl Costs {
    /// Adds what happened since the moment before. A stretch with some instrumentation at either
    /// end counts as instrumented, and nothing counts before the first request.
    pub fn add(&mut self, now: Moment) {
        let Some(last) = self.last.replace(now) else {
            return;
        };
        let instrumented = now.instrumented || last.instrumented;
        if instrumented {
            self.settled = now.at + SETTLING;
        }
        if last.requests == 0 || (!instrumented && last.at < self.settled) {
            return;
        }
        let sum = match instrumented {
            true => &mut self.instrumented,
            false => &mut self.bare,
        };
        sum.requests += now.requests - last.requests;
        sum.cpu += now.cpu.saturating_sub(last.cpu);
    }

    /// Processor time of a request while the server is instrumented, in seconds.
    pub fn instrumented_seconds(&self) -> Option<f64> {
        self.instrumented.seconds_a_request()
    }

    /// Processor time of a request while it is not, in seconds.
    pub fn bare_seconds(&self) -> Option<f64> {
        self.bare.seconds_a_request()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_what_ran_meanwhile_and_not_while_code_is_translated_anew() {
        let mut costs = Costs::default();
        let mut now = Moment::default();
        let mut pass = |requests, cpu_ms, instrumented| {
            now.at += Duration::from_millis(500);
            now.cpu += Duration::from_millis(cpu_ms);
            now.requests += requests;
            now.instrumented = instrumented;
            costs.add(now);
            (costs.instrumented_seconds(), costs.bare_seconds())
        };
        // Starting, the first request, and too few to tell.
        pass(0, 5000, false);
        pass(1, 300, true);
        assert_eq!(pass(19, 400, true), (None, None));
        assert_eq!(pass(1, 400, true), (Some(0.04), None));
        // It goes within the first of these, and all is translated until the third.
        assert_eq!(pass(20, 800, false), (Some(0.04), None));
        assert_eq!(pass(5, 900, false), (Some(0.04), None));
        assert_eq!(pass(10, 900, false), (Some(0.04), None));
        assert_eq!(pass(40, 400, false), (Some(0.04), Some(0.01)));
        // It comes back within this one.
        assert_eq!(pass(10, 400, true), (Some(0.04), Some(0.01)));
        assert_eq!(pass(10, 1000, true), (Some(0.05), Some(0.01)));
    }
}
