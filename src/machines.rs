//! Finds a plan's machine, and says which machine `--machine host` is: measured by `corehop
//! calibrate`, where that holds, or as the kernel describes it, with what is assumed for lack of a
//! description; and how fast this machine's clock is.

use crate::console;
use crate::failure::{Exit, Failure};
use corehop_partitioner::machine_list::{first, for_plan};
use corehop_plan::Plan;
use corehop_simulator::Machine;
use corehop_simulator::calibrated::{self, Calibrated};
use corehop_simulator::host;
use procfs::{CpuInfo, Current};
use std::path::Path;

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
            "{}: ignored for machine host: {why}; `corehop calibrate` measures this machine",
            path.display()
        )),
    }
}

/// The machine that `--machine` names, or else the plan.
///
/// A plan holds the name that stands in a machine file, from which the file cannot be found.
pub fn of_plan(path: &Path, plan: &Plan, named: Option<&str>) -> Result<Machine, Failure> {
    tell_host([named.unwrap_or(first(&plan.machine).0)]);
    for_plan(plan, named).map_err(|error| match error {
        corehop_simulator::Error::UnknownMachine { name, known } if named.is_none() => {
            let about = format!(
                "{}: the plan is for the machine '{name}', which is not bundled",
                path.display()
            );
            Failure::new(Exit::Input, about).remedy(format!(
                "name the file of '{name}' with --machine, or another machine: {known}, host"
            ))
        }
        error => error.into(),
    })
}

/// The clock of this machine's first processor, as the kernel last saw it.
pub fn clock_ghz() -> Option<f64> {
    let processors = CpuInfo::current().ok()?;
    let megahertz: f64 = processors.get_info(0)?.get("cpu MHz")?.parse().ok()?;
    Some(megahertz / 1000.0)
}
