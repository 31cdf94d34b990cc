//! Records each server here, searches its splits, and packs them with relative paths.

use super::searched::{split, with_l2};
use super::{Extent, LIBRARIES, plan_files};
use crate::Outcome;
use crate::dnsmasq::Dnsmasq;
use crate::mariadb::installed::ROOT;
use crate::memcached::Memcached;
use crate::nginx::Nginx;
use crate::planning::{Wanted, record};
use crate::redis::Redis;
use crate::running::folder;
use crate::server::{Server, unrecordable};
use crate::tpcc::Mariadb;
use corehop_plan::Request;
use corehop_simulator::Machine;
use std::path::Path;

/// Numbers of cores on which connections are measured.
pub const CORES: [usize; 3] = [2, 4, 8];
/// L2 sizes for which mariadbd is split, in KiB.
const L2_KIB: [u64; 4] = [256, 512, 1024, 2048];
const MARIADB_REQUESTS: u64 = 400;
const BRIEF_REQUESTS: u64 = 30;
/// L2 size if the kernel does not report it.
const USUAL_L2_BYTES: u64 = 1 << 20;
const SHARE_OF_L2: f64 = 0.7;

/// Returns the name of mariadbd's plan for this many cores with the nearest L2.
pub fn mariadb_plan(cores: usize, l2_bytes: u64) -> String {
    let ratio = |kib: &u64| {
        let (one, other) = (kib * 1024, l2_bytes.max(1));
        // A thousandth is exact enough, and ratios have no order.
        1000 * one.max(other) / one.min(other)
    };
    let nearest = L2_KIB.into_iter().min_by_key(ratio).unwrap_or(L2_KIB[0]);
    plan_name(cores, nearest)
}

fn plan_name(cores: usize, l2_kib: u64) -> String {
    format!("mariadbd-{cores}-cores-{l2_kib}-kib")
}

/// Packs all plans, or a reason for each that cannot be made.
pub fn pack(part: &Path, extent: &Extent) -> Outcome<()> {
    let host = "host".to_owned();
    if !extent.is_whole {
        let redis = Redis::tiny();
        return pack_server(&redis, BRIEF_REQUESTS, &[("redis".into(), 2, host)], part);
    }
    let l2_bytes = Machine::named_or_path("host").map_or(USUAL_L2_BYTES, |host| host.l2.size_bytes);
    let servers: [&dyn Server; 4] = [
        &Redis::of(SHARE_OF_L2, l2_bytes),
        &Dnsmasq::of(SHARE_OF_L2, l2_bytes),
        &Memcached,
        &Nginx,
    ];
    for server in servers {
        let plan = (server.name().to_owned(), 2, host.clone());
        pack_server(server, server.recorded_requests(), &[plan], part)?;
    }
    let machines = folder()?;
    let mut plans = Vec::new();
    for l2_kib in L2_KIB {
        let machine = with_l2(l2_kib * 1024, machines.path())?;
        let plan = |cores| (plan_name(cores, l2_kib), cores, machine.clone());
        plans.extend(CORES.map(plan));
    }
    pack_server(&Mariadb::on(&[1]), MARIADB_REQUESTS, &plans, part)
}

/// Name, cores, and machine of a plan.
type ToSearch = (String, usize, String);

/// Records a server, and packs these plans of it.
fn pack_server(server: &dyn Server, requests: u64, plans: &[ToSearch], part: &Path) -> Outcome<()> {
    let folder = folder()?;
    let trace = folder.path().join("trace");
    eprintln!("{} {}: recording", server.name(), server.load_name());
    let wanted = Wanted {
        requests,
        connections: 1,
    };
    let place = folder.path().join("recorded");
    // One server that cannot be recorded leaves the others.
    let recorded = match unrecordable(server) {
        Some(reason) => Err(reason),
        None => record(server, &wanted, place, &trace)
            .map_err(|error| error.to_string())
            .and_then(|recorded| recorded.map(|_| ())),
    };
    for (name, cores, machine) in plans {
        eprintln!("{name}: searching");
        let [plan, reason] = plan_files(part, name);
        let searched = match &recorded {
            Ok(()) => split(&trace, *cores, machine, &plan)?,
            Err(reason) => Err(reason.clone()),
        };
        match searched.and_then(|()| relative(&plan, part)) {
            Ok(()) => {}
            Err(said) => {
                eprintln!("{name}: no plan: {said}");
                std::fs::write(reason, said)?;
            }
        }
    }
    Ok(())
}

/// Replaces the paths in a plan by those in the packed folder.
fn relative(path: &Path, part: &Path) -> Result<(), String> {
    let mut plan = corehop_plan::read(path).map_err(|error| error.to_string())?;
    for function in &mut plan.functions {
        let at = packed(&function.module, part);
        function.module = at.ok_or_else(|| format!("{} is not packed", function.module))?;
    }
    // A request may begin at a function of libc, which is another file there. It moves nobody.
    plan.request = plan.request.and_then(|request| {
        let module = packed(&request.module, part)?;
        Some(Request { module, ..request })
    });
    corehop_plan::write(&plan, path).map_err(|error| error.to_string())
}

/// Returns where a file is in the packed folder: a program at its path, a library by its name.
fn packed(module: &str, part: &Path) -> Option<String> {
    let name = Path::new(module).file_name()?;
    let places = [
        Path::new(ROOT).join(module.trim_start_matches('/')),
        Path::new(LIBRARIES).join(name),
    ];
    let found = places.into_iter().find(|place| part.join(place).exists());
    found.map(|place| place.display().to_string())
}
