//! The cost of recording: the server's processor time per request, with and without
//! instrumentation.
//!
//! If every request is recorded, there is no comparison, and only the time of one is reported. If
//! some are not recorded, for long enough that the instrumentation is removed, the ratio of both is
//! the slowdown over QEMU without corehop. Rejected: wall-clock time, which depends on the load as
//! much as on the server.

use std::time::Duration;

/// Time that is not counted after the instrumentation is removed, while code is translated again.
const SETTLING: Duration = Duration::from_secs(1);
/// Minimum number of requests, and minimum time (in clock ticks of 10 ms), for a result.
const LEAST_REQUESTS: u64 = 20;
const LEAST_CPU: Duration = Duration::from_millis(200);

/// The state at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Time since the server was started.
    pub at: Duration,
    /// The server's processor time.
    pub cpu: Duration,
    /// Number of requests that the server has begun.
    pub requests: u64,
    /// Whether the server's code is instrumented, as far as known.
    pub instrumented: bool,
}

/// A number of requests and their time.
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

/// Sums of both kinds of requests.
#[derive(Debug, Default)]
pub struct Costs {
    last: Option<Moment>,
    instrumented: Sum,
    bare: Sum,
    /// Time before which uninstrumented requests are not counted.
    settled: Duration,
}

impl Costs {
    /// Adds the interval since the previous moment. An interval with instrumentation at either end
    /// counts as instrumented. Intervals before the first request do not count.
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

    /// Returns the processor time of an instrumented request, in seconds.
    pub fn instrumented_seconds(&self) -> Option<f64> {
        self.instrumented.seconds_a_request()
    }

    /// Returns the processor time of an uninstrumented request, in seconds.
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
        // The start, the first request, and too few requests for a result.
        pass(0, 5000, false);
        pass(1, 300, true);
        assert_eq!(pass(19, 400, true), (None, None));
        assert_eq!(pass(1, 400, true), (Some(0.04), None));
        // Instrumentation is removed within the first of these, and translation ends with the
        // third.
        assert_eq!(pass(20, 800, false), (Some(0.04), None));
        assert_eq!(pass(5, 900, false), (Some(0.04), None));
        assert_eq!(pass(10, 900, false), (Some(0.04), None));
        assert_eq!(pass(40, 400, false), (Some(0.04), Some(0.01)));
        // Instrumentation returns within this one.
        assert_eq!(pass(10, 400, true), (Some(0.04), Some(0.01)));
        assert_eq!(pass(10, 1000, true), (Some(0.05), Some(0.01)));
    }
}
