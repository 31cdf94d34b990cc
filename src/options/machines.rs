//! Finds the machine of a plan, and reports which machine `--machine host` is: the one that
//! `corehop calibrate` measured, if it is still valid, or the one that the kernel describes, with
//! its assumptions. Also reads the clock rate of this machine.

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use corehop_partitioner::machine_list::{first, for_plan};
use corehop_plan::Plan;
use corehop_simulator::Machine;
use corehop_simulator::calibrated::{self, Calibrated};
use corehop_simulator::host::{self, Host};
use procfs::{CpuInfo, Current};
use std::path::Path;

/// Reports the machine if one of these names, with or without a weight, is `host`. Returns it if
/// nobody has calibrated it; not with an empty `COREHOP_HOST`, which asks for assumed latencies.
pub fn tell_host<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Host> {
    let is_host = |name: &str| name.split('=').next() == Some("host");
    if !names.into_iter().any(is_host) {
        return None;
    }
    // The code that reads the machine reports what the kernel does not describe.
    let host = host::described().ok()?;
    for assumed in &host.assumed {
        console::warn(&format!("machine host: {assumed}"));
    }
    match calibrated::look(&host.machine) {
        Calibrated::Refused => None,
        Calibrated::Missing => Some(host),
        Calibrated::Taken { path, .. } => {
            let path = path.display();
            console::say(&format!("corehop: machine host: as measured, {path}"));
            None
        }
        Calibrated::Ignored { path, why } => {
            console::warn(&format!(
                "{}: ignored for machine host: {why}; `corehop calibrate` measures this machine",
                path.display()
            ));
            Some(host)
        }
    }
}

/// Returns the machine of `--machine`, or else of the plan.
///
/// A plan contains the name inside a machine file, which does not identify the file.
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

/// Returns the last known clock rate of this machine's first processor, in GHz.
pub fn clock_ghz() -> Option<f64> {
    let processors = CpuInfo::current().ok()?;
    let megahertz: f64 = processors.get_info(0)?.get("cpu MHz")?.parse().ok()?;
    Some(megahertz / 1000.0)
}
