//! Says which machine `--machine host` is: measured by `corehop calibrate`, where that holds, or as
//! the kernel describes it.

use crate::console;
use corehop_simulator::calibrated::{self, Calibrated};
use corehop_simulator::host;
use std::path::Path;

/// Says it where one of these names, perhaps with a weight, is `host`.
pub fn tell_host<'a>(names: impl IntoIterator<Item = &'a str>) {
    let is_host = |name: &str| name.split('=').next() == Some("host");
    if !names.into_iter().any(is_host) {
        return;
    }
    // What the kernel does not describe is said by whoever reads the machine.
    let Ok(described) = host::described(Path::new(host::SYSFS)) else {
        return;
    };
    match calibrated::look(&described) {
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
