//! Describes the machine of a bench in a line that is stored with its figures.
//!
//! scripts/figures recognizes the line by its beginning, the number of CPUs.

use corehop_simulator::Machine;
use procfs::{CpuInfo, Current};

/// Returns the processors, the L2 of each, and the kernel.
pub fn described() -> String {
    let processors = CpuInfo::current().ok();
    let count = processors.as_ref().map_or(0, CpuInfo::num_cores);
    let model = processors.and_then(|processors| {
        let model = processors.model_name(0)?;
        Some(model.to_owned())
    });
    let l2 = match Machine::named_or_path("host") {
        Ok(host) => format!("L2 {} KiB", host.l2.size_bytes / 1024),
        Err(_) => "L2 of unknown size".into(),
    };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let model = model.unwrap_or_else(|| "unknown".into());
    let counted = if count == 1 { "CPU" } else { "CPUs" };
    format!("{count} {counted} {model}, {l2}, Linux {}", kernel.trim())
}
