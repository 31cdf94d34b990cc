//! Other load on the machine during a calibration: other programs, and time taken by the
//! hypervisor.

use crate::calibration::native::usage::{self, Usage};
use procfs::{CpuTime, CurrentSI, KernelStats};
use serde::Serialize;
use std::time::Instant;

/// What disturbed a calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Disturbance {
    /// Duration, in seconds.
    pub seconds: f64,
    /// Share of all CPUs' time that other programs used, from 0 to 1; `None` if the kernel does not
    /// report it.
    pub others_share: Option<f64>,
    /// Share of all CPUs' time that the hypervisor gave to others.
    pub stolen_share: Option<f64>,
    /// Preemptions of measuring threads, per second.
    pub involuntary_switches_per_s: f64,
}

/// Watches the machine from its creation.
pub struct Watch {
    began: Instant,
    ticks: Option<CpuTime>,
    usage: Usage,
}

impl Watch {
    /// Begins to watch.
    pub fn begin() -> Watch {
        Watch {
            began: Instant::now(),
            ticks: ticks(),
            usage: usage::now(),
        }
    }

    /// Returns the disturbance since then.
    pub fn end(&self) -> Disturbance {
        let seconds = self.began.elapsed().as_secs_f64();
        let used = usage::now();
        let own = used.cpu_seconds - self.usage.cpu_seconds;
        let switches = used.involuntary_switches - self.usage.involuntary_switches;
        let shares = self.ticks.as_ref().zip(ticks());
        let shares = shares.and_then(|(before, after)| {
            shares_of(before, &after, own * procfs::ticks_per_second() as f64)
        });
        Disturbance {
            seconds,
            others_share: shares.map(|[others, _]| others),
            stolen_share: shares.map(|[_, stolen]| stolen),
            involuntary_switches_per_s: switches as f64 / seconds,
        }
    }
}

/// Returns all CPUs' time since the machine started, by category.
fn ticks() -> Option<CpuTime> {
    Some(KernelStats::current().ok()?.total)
}

/// Returns the shares of others and of the hypervisor, given this process's own ticks; `None` if
/// the kernel counts nothing.
fn shares_of(before: &CpuTime, after: &CpuTime, own_ticks: f64) -> Option<[f64; 2]> {
    let spent = |of: fn(&CpuTime) -> u64| of(after).saturating_sub(of(before)) as f64;
    let idle = spent(|t| t.idle + t.iowait.unwrap_or(0));
    let stolen = spent(|t| t.steal.unwrap_or(0));
    let busy = spent(|t| t.user + t.nice + t.system + t.irq.unwrap_or(0) + t.softirq.unwrap_or(0));
    let all = idle + stolen + busy;
    let others = (busy - own_ticks).max(0.0);
    (all > 0.0).then(|| [others / all, stolen / all])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_sees_this_process_work_and_tells_it_from_others() {
        let watch = Watch::begin();
        let began = Instant::now();
        let mut sum = 0_u64;
        while began.elapsed().as_millis() < 50 {
            sum = std::hint::black_box(sum + 1);
        }
        let seen = watch.end();
        assert!(seen.seconds >= 0.05 && sum > 0);
        for share in [seen.others_share, seen.stolen_share].into_iter().flatten() {
            assert!((0.0..=1.0).contains(&share), "{seen:?}");
        }
    }

    #[test]
    fn own_time_is_no_disturbance() {
        let Some(before) = ticks() else { return };
        let mut after = before.clone();
        after.user += 150;
        after.idle += 40;
        after.steal = Some(before.steal.unwrap_or(0) + 10);
        assert_eq!(shares_of(&before, &after, 100.0), Some([0.25, 0.05]));
        assert_eq!(shares_of(&before, &after, 500.0), Some([0.0, 0.05]));
        assert_eq!(shares_of(&before, &before, 0.0), None);
    }
}
