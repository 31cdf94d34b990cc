//! Machine files: each is read exactly, and an impossible one is rejected with the reason and the
//! position. The contents of the bundled files are tested in `bundled_machines.rs`.

use corehop_simulator::{Core, Error, Inclusion, Machine, Policy};
use std::path::Path;

const TINY: &str = "\
name = \"tiny\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 1000
l1i = { size_bytes = 1024, ways = 2, latency_cycles = 4 }
l1d = { size_bytes = 1024, ways = 2, latency_cycles = 4 }
l2 = { size_bytes = 4096, ways = 4, latency_cycles = 12 }
l3 = { size_bytes = 12288, ways = 4, latency_cycles = 40 }
";

fn read(text: &str) -> Result<Machine, Error> {
    Machine::from_toml(text, Path::new("tiny.toml"))
}

#[track_caller]
fn refusal(from: &str, to: &str) -> String {
    let text = TINY.replace(from, to);
    assert_ne!(text, TINY);
    read(&text).unwrap_err().to_string()
}

#[test]
fn an_unknown_machine_is_told_the_bundled_ones() {
    let said = Machine::named_or_path("cray-1").unwrap_err().to_string();
    let known: Vec<_> = Machine::bundled().collect();
    let expected = format!(
        "unknown machine 'cray-1', and no such file: use one of {}, `host` for this machine, or \
         the path of a machine file",
        known.join(", ")
    );
    assert_eq!(said, expected);
}

#[test]
fn a_machine_file_is_read_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.toml");
    std::fs::write(&path, TINY).unwrap();
    let machine = Machine::named_or_path(path.to_str().unwrap()).unwrap();
    assert_eq!(machine.l3.unwrap().sets(), 48);
}

#[test]
fn a_folder_is_no_machine_file() {
    let said = Machine::named_or_path("/").unwrap_err().to_string();
    assert!(said.starts_with("/: cannot read the machine: "), "{said}");
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let said = refusal("cores = 2", "cores = 2\nsockets = 1");
    assert!(said.contains("line 3"), "{said}");
    assert!(said.contains("unknown field `sockets`"), "{said}");
}

#[test]
fn a_missing_key_is_named_with_the_line_of_its_table() {
    let said = refusal("ways = 4, latency_cycles = 12", "ways = 4");
    assert!(said.contains("line 8"), "{said}");
    assert!(said.contains("missing field `latency_cycles`"), "{said}");
}

#[test]
fn a_machine_without_cores_is_refused() {
    assert_eq!(
        refusal("cores = 2", "cores = 0"),
        "tiny.toml: cores = 0: give the machine 1 to 64"
    );
    assert_eq!(
        refusal("cores = 2", "cores = 65"),
        "tiny.toml: cores = 65: give the machine 1 to 64"
    );
}

#[test]
fn a_core_is_as_its_table_says_and_else_the_default() {
    let default = Core::default();
    assert_eq!(read(TINY).unwrap().core, default);
    let core = |table: &str| read(&format!("{TINY}[core]\n{table}\n")).unwrap().core;
    assert_eq!(core(""), default);
    let expected = Core {
        instructions_in_1000_cycles: 1250,
        ..default
    };
    assert_eq!(core("instructions_per_cycle = 1.25"), expected);
    let expected = Core {
        instructions_in_1000_cycles: 6000,
        reorder_window_instructions: 512,
        store_buffer_entries: 114,
        mispredict_cycles: 20,
    };
    let all = "instructions_per_cycle = 6\nreorder_window_instructions = 512\n\
               store_buffer_entries = 114\nmispredict_cycles = 20";
    assert_eq!(core(all), expected);
}

#[test]
fn a_core_that_nobody_builds_is_refused() {
    let refused = |line: &str| read(&format!("{TINY}[core]\n{line}\n")).unwrap_err();
    for rate in ["0", "-1", "0.0004", "64.1", "1e300", "nan", "inf"] {
        let said = refused(&format!("instructions_per_cycle = {rate}")).to_string();
        let expected = "tiny.toml: core: instructions_per_cycle: give it 0.001 to 64";
        assert_eq!(said, expected, "{rate}");
    }
    for key in [
        "reorder_window_instructions",
        "store_buffer_entries",
        "mispredict_cycles",
    ] {
        for value in [0, 65_537] {
            let said = refused(&format!("{key} = {value}")).to_string();
            let expected = format!("tiny.toml: core: {key} = {value}: give it 1 to 65536");
            assert_eq!(said, expected);
        }
    }
    let said = refused("width = 4").to_string();
    assert!(said.contains("unknown field `width`"), "{said}");
}

#[test]
fn lines_of_other_than_64_bytes_are_refused() {
    assert_eq!(
        refusal("= 64", "= 128"),
        "tiny.toml: line_size_bytes = 128: traces are recorded and counted in lines of 64 bytes \
         only"
    );
}

#[test]
fn a_cache_without_lines_is_refused() {
    assert_eq!(
        refusal("4096, ways = 4", "0, ways = 4"),
        "tiny.toml: l2: size_bytes = 0, ways = 4: a cache has at least one line"
    );
    assert_eq!(
        refusal("4096, ways = 4", "4096, ways = 0"),
        "tiny.toml: l2: size_bytes = 4096, ways = 0: a cache has at least one line"
    );
}

#[test]
fn a_size_that_does_not_divide_into_ways_is_refused() {
    assert_eq!(
        refusal("12288, ways = 4", "12288, ways = 5"),
        "tiny.toml: l3: 12288 bytes do not divide into 5 ways of 64-byte lines: change \
         size_bytes or ways"
    );
}

#[test]
fn a_private_cache_without_a_power_of_two_of_sets_is_refused() {
    assert_eq!(
        refusal("4096, ways = 4", "6144, ways = 4"),
        "tiny.toml: l2: 6144 bytes in 4 ways of 64 bytes make 24 sets, which is no power of two: \
         change size_bytes or ways"
    );
}

#[test]
fn an_inclusive_cache_smaller_than_what_it_includes_is_refused() {
    assert_eq!(
        refusal("12288, ways = 4", "2048, ways = 4"),
        "tiny.toml: l3: 2048 bytes are fewer than the 4096 of l2, which an inclusive l3 must \
         hold: make it larger"
    );
    assert_eq!(
        refusal("4096, ways = 4", "512, ways = 4"),
        "tiny.toml: l2: 512 bytes are fewer than the 1024 of l1i, which an inclusive l2 must \
         hold: make it larger"
    );
}

#[test]
fn an_inclusive_l3_also_holds_what_a_non_inclusive_l2_does_not() {
    let text = TINY.replace("4096, ways = 4, latency_cycles = 12", SMALL_L2);
    let text = text.replace("12288, ways = 4", "512, ways = 4");
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "tiny.toml: l3: 512 bytes are fewer than the 1024 of l1i, which an inclusive l3 must \
         hold: make it larger"
    );
    let text = text.replace(
        "latency_cycles = 40",
        "latency_cycles = 40, inclusion = \"exclusive\"",
    );
    assert_eq!(
        read(&text).unwrap().l3.unwrap().inclusion,
        Inclusion::Exclusive
    );
}

const SMALL_L2: &str = "512, ways = 4, latency_cycles = 12, inclusion = \"non-inclusive\"";

#[test]
fn what_a_machine_file_leaves_out_has_defaults() {
    let machine = read(TINY).unwrap();
    let l2 = machine.l2;
    assert_eq!(
        (l2.policy, l2.shared_by, l2.inclusion),
        (Policy::Lru, 1, Inclusion::Inclusive)
    );
    assert_eq!(machine.transfer_latency_cycles, 40);
    let without_l3 = read(&TINY[..TINY.find("l3 =").unwrap()]).unwrap();
    assert_eq!(without_l3.l3, None);
    assert_eq!(without_l3.transfer_latency_cycles, 200);
}

#[test]
fn a_machine_file_may_say_policy_sharing_inclusion_and_transfers() {
    let text = TINY
        .replace("cores = 2", "cores = 2\ntransfer_latency_cycles = 70")
        .replace(
            "latency_cycles = 12",
            "latency_cycles = 12, shared_by = 2, policy = \"plru\"",
        )
        .replace(
            "latency_cycles = 40",
            "latency_cycles = 40, inclusion = \"non-inclusive\"",
        );
    let machine = read(&text).unwrap();
    assert_eq!(machine.transfer_latency_cycles, 70);
    assert_eq!((machine.l2.shared_by, machine.l2.policy), (2, Policy::Plru));
    assert_eq!(machine.l3.unwrap().inclusion, Inclusion::NonInclusive);
}

#[test]
fn a_hop_costs_by_how_long_the_core_was_idle() {
    let points = "hop_cost_cycles = 1000\nidle_hops = [\
                  { idle_cycles = 100, cost_cycles = 1200 }, \
                  { idle_cycles = 1100, cost_cycles = 600 }]";
    let mut machine = read(&TINY.replace("hop_cost_cycles = 1000", points)).unwrap();
    let costs = |machine: &Machine| {
        [0, 1, 50, 100, 101, 600, 1100, u64::MAX].map(|idle| machine.idle_hop_cycles(idle))
    };
    assert_eq!(
        costs(&machine),
        [1000, 1002, 1100, 1200, 1200, 900, 600, 600]
    );
    machine.set_hop_cost(7);
    assert_eq!(costs(&machine), [7; 8]);
    let falling = points.replace("1100", "100");
    assert!(refusal("hop_cost_cycles = 1000", &falling).ends_with(
        "idle_hops: idle_cycles = 100 comes after 100: give them in rising order, the first \
             above 0"
    ));
}

#[test]
fn cores_share_caches_in_equal_groups() {
    assert_eq!(
        refusal("latency_cycles = 12", "latency_cycles = 12, shared_by = 3"),
        "tiny.toml: l2: shared_by = 3 does not divide the machine's cores, which is 2: \
         change either"
    );
    assert_eq!(
        refusal(
            "ways = 2, latency_cycles = 4",
            "ways = 2, latency_cycles = 4, shared_by = 2"
        ),
        "tiny.toml: l1i: shared_by = 2 does not divide l2's shared_by, which is 1: change either"
    );
    assert_eq!(
        refusal("latency_cycles = 12", "latency_cycles = 12, shared_by = 0"),
        "tiny.toml: l2: shared_by = 0 does not divide the machine's cores, which is 2: \
         change either"
    );
}

#[test]
fn a_setting_where_it_means_nothing_is_refused() {
    let said = refusal("latency_cycles = 40", "latency_cycles = 40, shared_by = 2");
    assert!(said.contains("unknown field `shared_by`"), "{said}");
    let said = refusal(
        "ways = 2, latency_cycles = 4",
        "ways = 2, latency_cycles = 4, inclusion = \"inclusive\"",
    );
    assert!(said.contains("unknown field `inclusion`"), "{said}");
    assert_eq!(
        refusal(
            "latency_cycles = 12",
            "latency_cycles = 12, inclusion = \"exclusive\""
        ),
        "tiny.toml: l2: inclusion = \"exclusive\" is simulated for l3 only: choose \
         \"inclusive\" or \
         \"non-inclusive\""
    );
}

#[test]
fn ways_that_a_policy_cannot_choose_from_are_refused() {
    assert_eq!(
        refusal("12288, ways = 4", "12288, ways = 3, policy = \"plru\""),
        "tiny.toml: l3: policy = \"plru\", ways = 3: its tree needs a power of two of ways, at \
         most 64: change ways or policy"
    );
    assert_eq!(
        refusal("12288, ways = 4", "8000, ways = 125"),
        "tiny.toml: l3: ways = 125: more than 124 cannot be simulated"
    );
}

#[test]
fn a_cache_too_large_to_simulate_is_refused() {
    assert_eq!(
        refusal("12288, ways = 4", "1099511627776, ways = 4"),
        "tiny.toml: l3: 1099511627776 bytes: more than 8589934592 cannot be simulated"
    );
}
