//! The bundled machines: every file is readable, matches the tables below, and is described in
//! `docs/reference/machines.md` by the same rows.

use corehop_simulator::{Core, Inclusion, Level, Machine, Topology};
use std::path::{Path, PathBuf};

/// Name, cores, L1I, L1D, L2, L3: an independent copy of the contents of the files.
const TABLE: &str = "\
xeon-e5-2620-v4 | 8 | 32 KB, 8 ways | 32 KB, 8 ways | 256 KB, 8 ways | 20 MB, 20 ways
xeon-d-1540 | 8 | 32 KB, 8 ways | 32 KB, 8 ways | 256 KB, 8 ways | 12 MB, 12 ways
xeon-e5-4610v2 | 8 | 32 KB, 8 ways | 32 KB, 8 ways | 256 KB, 8 ways | 16 MB, 16 ways
xeon-8480 | 56 | 32 KB, 8 ways | 48 KB, 12 ways | 2 MB, 16 ways | 105 MB, 15 ways, non-inclusive
core-i7-soares | 4 | 32 KB, 4 ways | 32 KB, 8 ways | 512 KB, 8 ways | 8 MB, 16 ways
opteron-8431 | 6 | 64 KB, 2 ways | 64 KB, 2 ways | 512 KB, 16 ways | 6 MB, 48 ways, exclusive
opteron-6274 | 8 | 64 KB, 2 ways, of 2 cores | 16 KB, 4 ways | 2 MB, 16 ways, of 2 cores | \
6 MB, 48 ways, exclusive
opteron-6380 | 8 | 64 KB, 2 ways, of 2 cores | 16 KB, 4 ways | 2 MB, 16 ways, of 2 cores | \
6 MB, 48 ways, exclusive
epyc-9004 | 8 | 32 KB, 8 ways | 32 KB, 8 ways | 1 MB, 8 ways | 32 MB, 16 ways, exclusive
graviton3 | 64 | 64 KB, 4 ways | 64 KB, 4 ways | 1 MB, 8 ways | 32 MB, 16 ways, non-inclusive
ppc-970fx | 2 | 64 KB, 1 way | 32 KB, 2 ways | 512 KB, 8 ways | none
";

/// Name, instructions per cycle, reorder window, store buffer.
const CORES: &str = "\
xeon-e5-2620-v4 | 4 | 192 | 42
xeon-d-1540 | 4 | 192 | 42
xeon-e5-4610v2 | 4 | 168 | 36
xeon-8480 | 6 | 512 | 114
core-i7-soares | 4 | 128 | 32
opteron-8431 | 3 | 72 | 32
opteron-6274 | 2 | 128 | 24
opteron-6380 | 2 | 128 | 24
epyc-9004 | 6 | 320 | 64
graviton3 | 8 | 256 | 72
ppc-970fx | 5 | 100 | 32
";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn describe(level: &Level) -> String {
    let kib = level.size_bytes >> 10;
    let mut text = match kib % 1024 {
        0 => format!("{} MB", kib / 1024),
        _ => format!("{kib} KB"),
    };
    let plural = if level.ways == 1 { "" } else { "s" };
    text += &format!(", {} way{plural}", level.ways);
    if level.shared_by > 1 {
        text += &format!(", of {} cores", level.shared_by);
    }
    text += match level.inclusion {
        Inclusion::Inclusive => "",
        Inclusion::NonInclusive => ", non-inclusive",
        Inclusion::Exclusive => ", exclusive",
    };
    text
}

fn row(machine: &Machine) -> String {
    let Machine { l1i, l1d, l2, .. } = machine;
    let l3 = machine.l3.as_ref().map_or("none".into(), describe);
    let [l1i, l1d, l2] = [l1i, l1d, l2].map(describe);
    format!(
        "{} | {} | {l1i} | {l1d} | {l2} | {l3}",
        machine.name, machine.cores
    )
}

fn row_of_core(machine: &Machine) -> String {
    let Core {
        instructions_in_1000_cycles: rate,
        reorder_window_instructions: window,
        store_buffer_entries: stores,
        ..
    } = machine.core;
    let rate = f64::from(rate) / 1000.0;
    format!("{} | {rate} | {window} | {stores}", machine.name)
}

#[test]
fn every_bundled_machine_is_what_the_tables_say() {
    let machines = Machine::bundled().map(|name| Machine::named_or_path(name).unwrap());
    let machines: Vec<Machine> = machines.collect();
    let rows: Vec<_> = machines.iter().map(row).collect();
    assert_eq!(rows, TABLE.lines().collect::<Vec<_>>());
    let rows: Vec<_> = machines.iter().map(row_of_core).collect();
    assert_eq!(rows, CORES.lines().collect::<Vec<_>>());
}

#[test]
fn every_bundled_machine_has_its_row_in_the_documentation() {
    let text = std::fs::read_to_string(repository().join("docs/reference/machines.md")).unwrap();
    for row in TABLE.lines().chain(CORES.lines()) {
        let begins = format!("| {row} | ");
        assert!(text.lines().any(|line| line.starts_with(&begins)), "{row}");
    }
}

#[test]
fn every_machine_file_is_bundled_under_its_own_name() {
    let folder = repository().join("configs/machines");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let machine = Machine::named_or_path(path.to_str().unwrap()).unwrap();
        assert_eq!(machine.name, stem);
        assert_eq!(Machine::named_or_path(&stem).unwrap(), machine);
        files.push(stem);
    }
    let mut bundled: Vec<_> = Machine::bundled().collect();
    bundled.sort_unstable();
    files.sort_unstable();
    assert_eq!(files, bundled);
}

#[test]
fn outer_levels_are_slower_than_inner_ones_and_hops_than_memory() {
    for name in Machine::bundled() {
        let machine = Machine::named_or_path(name).unwrap();
        let l3 = machine.l3.map(|l3| l3.latency_cycles);
        let inner = [machine.l1i, machine.l1d].map(|l1| l1.latency_cycles);
        let outer = [machine.l2.latency_cycles, l3.unwrap_or(u32::MAX)];
        assert!(inner.iter().all(|&l1| l1 < outer[0]), "{name}");
        assert!(outer[0] < outer[1], "{name}");
        assert!(l3.unwrap_or(0) < machine.memory_latency_cycles, "{name}");
        assert!(machine.memory_latency_cycles < machine.hop_cost_cycles);
        let transfer = l3.unwrap_or(machine.memory_latency_cycles);
        assert_eq!(machine.transfer_latency_cycles, transfer, "{name}");
    }
}

#[test]
fn the_xeon_e5_2620_v4_says_every_number_of_its_file() {
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let expected = Machine {
        name: "xeon-e5-2620-v4".into(),
        cores: 8,
        l1i: Level::new(32 << 10, 8, 4),
        l1d: Level::new(32 << 10, 8, 4),
        l2: Level::new(256 << 10, 8, 12),
        l3: Some(Level::new(20 << 20, 20, 45)),
        memory_latency_cycles: 200,
        transfer_latency_cycles: 45,
        hop_cost_cycles: 24_150,
        core: Core {
            instructions_in_1000_cycles: 4000,
            reorder_window_instructions: 192,
            store_buffer_entries: 42,
            mispredict_cycles: 17,
        },
        busy_hop_cost_cycles: 24_150,
        idle_hops: Vec::new(),
        carried_hop_cost_cycles: 1200,
        topology: Topology::default(),
        translation: machine.translation.clone(),
    };
    assert_eq!(machine, expected);
    assert_eq!(machine.l3.unwrap().sets(), 16_384);
}
