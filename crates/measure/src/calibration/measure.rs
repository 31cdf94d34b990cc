//! Runs a whole calibration: caches, sizes, cores and hops, one after the other.

use crate::calibration::calibrated::{Calibration, gain};
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::observer::{Observer, step};
use crate::calibration::pinned::on;
use crate::calibration::watch::Watch;
use crate::calibration::{branches, caches, cores, curve, hops, replacement, tlbs};
use corehop_simulator::calibrated;
use corehop_simulator::host::Host;
use corehop_support::topology::{Topology, allowed};

/// Measures this machine, which `host` describes.
///
/// # Errors
/// [`Error::Interrupted`] if the observer requests the end, and errors of the system. A missing
/// capability of this machine is no error: it is listed in [`Calibration::left_out`].
pub fn calibrate(
    host: &Host,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Calibration, Error> {
    let watch = Watch::begin();
    let described = &host.machine;
    let cpus = allowed();
    // The caches are those of this CPU, unless the kernel describes only a CPU where nothing runs.
    let is_host = |cpu: &&usize| **cpu == host.cpu;
    let first = *cpus
        .iter()
        .find(is_host)
        .or(cpus.first())
        .ok_or(Error::NoCpu)?;
    let measured = on(first, || caches::measure(described, effort, observer))?;
    let curve = on(first, || curve::measure(described, effort, observer))?;
    let tlbs = on(first, || tlbs::measure(described, effort, observer))?;
    let mut latencies = measured.latencies;
    let mispredicted_branch = on(first, || branches::measure(latencies.l1d, effort, observer))?;
    latencies.l3 = curve.l3.map(|figure| figure.without(tlbs.of_l3));
    let memory = latencies.memory;
    latencies.memory = memory.map(|figure| figure.without(tlbs.of_memory));
    let of_circular = tlbs.cycles_of(caches::circular_bytes(described));
    let circular = latencies.circular;
    latencies.circular = circular.map(|figure| figure.without(of_circular));
    let l3_ns = latencies.l3.map(|figure| figure.ns.median);
    let pairs = cores::pairs(&Topology::here(), &cpus, l3_ns, effort, observer)?;
    let mut left_out = measured.left_out;
    // The kernel reports which CPUs share a core. If all are near each other, the choice is
    // irrelevant.
    let far = pairs.iter().find(|pair| pair.told_same_core != Some(true));
    let transfer = match far {
        None => {
            left_out.push("a line from core to core: there is one CPU, or one core".into());
            None
        }
        Some(pair) => cores::transfer(pair.cpus, effort)?,
    };
    step(observer)?;
    let (hops, without) = match hops::measure(effort, observer) {
        Err(error @ Error::Program { .. }) => {
            (hops::Hops::default(), vec![format!("hops: {error}")])
        }
        measured => measured?,
    };
    left_out.extend(without);
    let disturbance = watch.end();
    Ok(Calibration {
        cpu_model: calibrated::cpu_model(),
        cpus,
        command: effort.command,
        is_quick: effort.is_quick,
        described: described.clone(),
        assumed: host.assumed.clone(),
        clocks: measured.clocks,
        has_huge_pages: measured.has_huge_pages,
        capacities: curve::capacities(described, &latencies, &curve.points),
        replacement: replacement::of(described, &latencies),
        l2_prefetch_gain: gain(latencies.l2, latencies.l2_sequential),
        l3_prefetch_gain: gain(latencies.l3, latencies.l3_sequential),
        latencies,
        tlbs,
        mispredicted_branch,
        transfer,
        hops,
        pairs,
        curve: curve.points,
        disturbance,
        left_out,
    })
}
