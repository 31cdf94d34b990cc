//! The machine of the measurement, and its other load during it.
//!
//! Loads are sized by its L2, so figures of two machines are for two loads. CPU time that a
//! hypervisor gives to others (`steal`) affects all variants, but unevenly.

use crate::Outcome;
use crate::awake;
use crate::machine;
use crate::measuring::Effort;
use corehop_simulator::Machine;
use corehop_support::processes::Awake;
use procfs::{CpuTime, Current, CurrentSI, KernelStats, LoadAverage};

/// L2 size if the kernel does not report it: that of most servers since 2017.
const USUAL_L2_BYTES: u64 = 1 << 20;

/// The machine, with its state at the beginning.
pub struct Here {
    pub l2_bytes: u64,
    is_l2_known: bool,
    before: Option<CpuTime>,
    /// Keeps the CPUs awake during its lifetime.
    awake: Option<Awake>,
}

impl Here {
    pub fn look() -> Outcome<Here> {
        let host = Machine::named_or_path("host").ok();
        let l2_bytes = host.map(|host| host.l2.size_bytes);
        Ok(Here {
            l2_bytes: l2_bytes.unwrap_or(USUAL_L2_BYTES),
            is_l2_known: l2_bytes.is_some(),
            before: times(),
            awake: awake::if_asked()?,
        })
    }

    /// Returns the text above the table.
    pub fn head(&self, effort: &Effort) -> String {
        let awake = match self.awake {
            Some(_) => ", kept awake",
            None => "",
        };
        let assumed = match self.is_l2_known {
            true => String::new(),
            false => format!(" (taken for {} KiB)", self.l2_bytes / 1024),
        };
        format!(
            "{}{assumed}{awake}; {} starts; load average before {}",
            machine::described(),
            effort.starts,
            load_average(),
        )
    }

    /// Describes what the CPUs did since the beginning.
    pub fn since(&self) -> String {
        let (Some(before), Some(after)) = (&self.before, times()) else {
            return "the kernel does not tell what the CPUs did".into();
        };
        let spent = |of: fn(&CpuTime) -> u64| (of(&after).saturating_sub(of(before))) as f64;
        let idle = spent(|t| t.idle + t.iowait.unwrap_or(0));
        let stolen = spent(|t| t.steal.unwrap_or(0));
        let busy = spent(|t| t.user + t.nice + t.system + t.irq.unwrap_or(0));
        let busy = busy + spent(|t| t.softirq.unwrap_or(0));
        let all = (idle + stolen + busy).max(1.0) / 100.0;
        format!(
            "meanwhile the CPUs were {:.0} % busy, {:.0} % idle, {:.1} % taken by the hypervisor; \
             load average after {}",
            busy / all,
            idle / all,
            stolen / all,
            load_average(),
        )
    }
}

fn times() -> Option<CpuTime> {
    Some(KernelStats::current().ok()?.total)
}

fn load_average() -> String {
    let average = LoadAverage::current();
    average.map_or_else(|_| "unknown".into(), |load| format!("{:.2}", load.one))
}
