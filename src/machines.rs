//! Says which machine `--machine host` is: measured by `corehop calibrate`, where that holds, or as
//! the kernel describes it, with what is assumed for lack of a description; and how fast this
//! machine's clock is.

use crate::console;
use corehop_simulator::calibrated::{self, Calibrated};
use corehop_simulator::host;
use procfs::{CpuInfo, Current};

/// Says it where one of these names, perhaps with a weight, is `host`.
pub fn tell_host<'a>(names: impl IntoIterator<Item = &'a str>) {
    let is_host = |name: &str| name.split('=').next() == Some("host");
    if !names.into_iter().any(is_host) {
        return;
    }
    // What the kernel does not describe is said by whoever reads the machine.
    let Ok(host) = host::described() else {
        return;
    };
    for assumed in &host.assumed {
        console::warn(&format!("machine host: {assumed}"));
    }
    match calibrated::look(&host.machine) {
        Calibrated::Missing => {}
        Calibrated::Taken { path, .. } => console::say(&format!(
            "corehop: machine host: as measured, {}",
            path.display()
        )),
        Calibrated::Ignored { path, why } => console::warn(&format!(
            "{}: not taken for machine host: {why}; `corehop calibrate` measures this machine",
            path.display()
        )),
    }
}

/// The clock of this machine's first processor, as the kernel last saw it.
pub fn clock_ghz() -> Option<f64> {
    let processors = CpuInfo::current().ok()?;
    let megahertz: f64 = processors.get_info(0)?.get("cpu MHz")?.parse().ok()?;
    Some(megahertz / 1000.0)
}
