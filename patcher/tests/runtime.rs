//! The runtime's behavior when it starts, moves threads, and ends.

use crate::workshop::{
    self, Finished, Statistics, build, build_alone, patched, plan_of, run, two_of_its_own,
};
use std::path::PathBuf;
use std::process::Command;

struct Places {
    folder: tempfile::TempDir,
    program: PathBuf,
}

fn places(cores: u32) -> Places {
    let folder = tempfile::tempdir().unwrap();
    let binary = build(folder.path(), "places", &[], &["places.cpp"]);
    let plan = plan_of(&binary, cores, &[("first_core", 0), ("second_core", 1)]);
    let program = patched(&binary, &plan, folder.path()).output;
    Places { folder, program }
}

impl Places {
    fn command(&self, backend: &str, what: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(what)
            .current_dir(self.folder.path())
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", "statistics");
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        command
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.folder.path().join("statistics"))
    }

    /// Runs with these variables, which must leave the program unhooked and print one line; returns
    /// it.
    fn complaint(&self, variables: &[(&str, &str)]) -> String {
        let mut command = self.command("affinity", "places");
        let finished = run(command.envs(variables.iter().copied()));
        assert_eq!(finished.status.code(), Some(0));
        assert!(finished.output.ends_with("done\n"));
        assert!(!self.folder.path().join("statistics").exists());
        let lines: Vec<&str> = finished.errors.lines().collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("running without hops"), "{lines:?}");
        lines[0].into()
    }
}

fn said(finished: &Finished) -> Vec<&str> {
    assert!(finished.status.success(), "{}", finished.errors);
    finished.output.lines().collect()
}

#[test]
fn a_hop_pins_the_thread_and_nobody_else() {
    let all = workshop::processors();
    let expected = [
        format!("start {all}"),
        "hopped 1".into(),
        format!("thread {all}"),
        "still 1".into(),
        format!("child {all}"),
        "child hopped 1".into(),
        "back 1".into(),
        "done".into(),
    ];
    let places = places(2);
    assert_eq!(
        said(&run(&mut places.command("affinity", "places"))),
        expected
    );
    let statistics = places.statistics();
    assert_eq!(statistics.of("second_core"), (1, 1));
    assert_eq!(
        statistics.of("first_core"),
        (1, 1),
        "the child's call is the child's"
    );
}

#[test]
fn counting_and_off_move_nobody() {
    let all = workshop::processors();
    let places = places(2);
    for backend in ["count", "off"] {
        let finished = run(&mut places.command(backend, "places"));
        let stays = format!(" {all}");
        let (done, moved) = said(&finished)
            .split_last()
            .map(|(d, m)| (*d, m.to_vec()))
            .unwrap();
        assert_eq!(done, "done");
        assert!(moved.iter().all(|line| line.ends_with(&stays)), "{moved:?}");
    }
}

#[test]
fn counts_of_threads_that_ended_are_kept() {
    let places = places(2);
    said(&run(&mut places.command("count", "threads")));
    let statistics = places.statistics();
    assert_eq!(statistics.of("second_core"), (200, 200));
    // A thread reuses the counters of one that ended, so 200 successive threads need few. They need
    // one or two more if the kernel is slow to remove a thread.
    assert!(
        statistics.total("tallies") < 20,
        "{}",
        statistics.total("tallies")
    );
}

#[test]
fn a_hop_that_fails_is_counted_once_and_the_thread_stays() {
    let places = places(2);
    let finished = run(&mut places.command("affinity", "forbidden"));
    assert_eq!(said(&finished), ["done"]);
    let statistics = places.statistics();
    assert_eq!(statistics.total("failed_hops"), 1);
    assert_eq!(statistics.total("hops"), 0);
    assert_eq!(statistics.total("calls"), 20);
}

#[test]
fn a_thread_whose_hop_fails_is_pinned_no_more() {
    let all = workshop::processors();
    let places = places(2);
    let finished = run(&mut places.command("affinity", "refused"));
    let expected = [
        "hopped 1".into(),
        format!("refused {all}"),
        format!("still {all}"),
        "done".into(),
    ];
    assert_eq!(said(&finished), expected);
    let statistics = places.statistics();
    assert_eq!(statistics.total("failed_hops"), 1);
    assert_eq!(statistics.total("hops"), 1);
}

#[test]
fn statistics_go_where_the_server_was_started_and_each_process_may_have_its_own() {
    let places = places(2);
    said(&run(&mut places.command("count", "elsewhere")));
    assert_eq!(places.statistics().of("second_core"), (1, 1));
    std::fs::remove_file(places.folder.path().join("statistics")).unwrap();
    said(&run(places
        .command("count", "places")
        .env("COREHOP_STATS", "of.%p")));
    let names = std::fs::read_dir(places.folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut written: Vec<(u64, u64)> = names
        .filter(|name| name.starts_with("of."))
        .map(|name| Statistics::read(&places.folder.path().join(name)))
        .map(|statistics| {
            (
                statistics.of("first_core").0,
                statistics.of("second_core").0,
            )
        })
        .collect();
    written.sort_unstable();
    assert_eq!(written, [(1, 0), (1, 1)], "the child's and the parent's");
}

#[test]
fn settings_that_make_no_sense_leave_the_program_unhooked() {
    let places = places(2);
    let complaint = |name, value| places.complaint(&[(name, value)]);
    assert_eq!(
        complaint("COREHOP_BACKEND", "fast"),
        "corehop: COREHOP_BACKEND=fast is none of affinity, auto, carrier, count, off: running \
         without hops"
    );
    assert!(complaint("COREHOP_CPUS", "0,x").contains("not a list of CPU numbers"));
    assert!(complaint("COREHOP_CPUS", "0,,0").contains("not a list of CPU numbers"));
    assert!(complaint("COREHOP_CPUS", "0").contains("names 1 CPUs, but the plan needs 2"));
    assert!(complaint("COREHOP_CPUS", "0,8000").contains("names CPU 8000"));
    assert!(complaint("COREHOP_CPUS", "0,99999999999999999999").contains("not a list"));
}

#[test]
fn on_one_cpu_alone_no_backend_has_a_core_to_hop_to_and_one_line_says_so() {
    let places = places(2);
    let first =
        two_of_its_own().map_or("0".to_owned(), |two| two.split(',').next().unwrap().into());
    let pinned = |backend: &str| {
        let command = places.command(backend, "places");
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", &first]).arg(command.get_program());
        pinned.args(command.get_args());
        for (name, value) in command.get_envs() {
            value.map(|value| pinned.env(name, value));
        }
        pinned.env_remove("COREHOP_CPUS");
        pinned
    };
    for backend in ["affinity", "carrier"] {
        let finished = run(&mut pinned(backend));
        assert_eq!(finished.status.code(), Some(0), "{backend}");
        let expected = "corehop: the plan needs 2 cores, but this process may run on one CPU \
                        alone: widen its mask (taskset, the container's CPUs); running without \
                        hops\n";
        let told = finished.errors.matches(expected).count();
        assert_eq!(told, 1, "{backend}: {}", finished.errors);
    }
}

#[test]
fn a_plan_for_more_cores_than_there_are_is_not_squeezed_onto_fewer() {
    let places = places(1000);
    let complaint = places.complaint(&[("COREHOP_CPUS", "")]);
    assert!(
        complaint.contains("the plan needs 1000 cores"),
        "{complaint}"
    );
    assert!(complaint.contains("taskset"), "{complaint}");
    assert!(
        said(&run(&mut places.command("count", "threads"))) == ["done"],
        "counting needs none"
    );
}

#[test]
fn a_cpu_named_twice_is_used_twice() {
    let places = places(2);
    let own = run(Command::new("sh").args(["-c", "taskset -cp $$"])).output;
    let first: String = own.rsplit(' ').next().unwrap().trim().into();
    let first = first.split([',', '-']).next().unwrap().to_string();
    let mut command = places.command("affinity", "threads");
    said(&run(command.env("COREHOP_CPUS", format!("{first},{first}"))));
    assert_eq!(places.statistics().total("hops"), 200);
}

#[test]
fn a_runtime_of_another_interface_leaves_the_program_unhooked_and_is_found() {
    let places = places(2);
    // The note's first word after its header: length of name, of contents, type, "corehop\0".
    let mut bytes = std::fs::read(&places.program).unwrap();
    let owner = bytes.windows(8).rposition(|w| w == b"corehop\0").unwrap();
    let first = bytes[..owner]
        .windows(8)
        .rposition(|w| w == b"corehop\0")
        .unwrap();
    bytes[first + 8] = 99;
    std::fs::write(&places.program, bytes).unwrap();
    assert!(places.complaint(&[]).contains("runtime interface 99"));
    let verified = corehop_patcher::verify(&places.program, None).unwrap();
    assert!(
        verified.findings[0].contains("contradict"),
        "{:?}",
        verified.findings
    );
}

#[test]
fn without_its_runtime_a_patched_program_does_not_verify() {
    let places = places(2);
    let runtime = places.folder.path().join(corehop_runtime::NAME);
    std::fs::write(&runtime, "something else").unwrap();
    let findings = corehop_patcher::verify(&places.program, None)
        .unwrap()
        .findings;
    assert!(findings[0].contains("not an ELF file"), "{findings:?}");
    std::fs::remove_file(&runtime).unwrap();
    let findings = corehop_patcher::verify(&places.program, None)
        .unwrap()
        .findings;
    assert!(
        findings[0].contains("the runtime cannot be read"),
        "{findings:?}"
    );
}

#[test]
fn the_runtime_turns_shadow_stacks_off() {
    // A displaced call returns to an address that no call pushed. The loader enables shadow stacks
    // only if every library at the start is marked for them: this one must not be.
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(corehop_runtime::NAME);
    std::fs::write(&library, corehop_runtime::LIBRARY).unwrap();
    let notes = run(Command::new("readelf").arg("-nW").arg(&library));
    assert!(notes.status.success());
    assert!(!notes.output.contains("SHSTK"), "{}", notes.output);
}

#[test]
fn the_runtime_touches_vector_registers_only_to_carry_each_of_them() {
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic};
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(corehop_runtime::NAME);
    std::fs::write(&library, corehop_runtime::LIBRARY).unwrap();
    let analysis = corehop_patcher::Analysis::of(&library).unwrap();
    let mut factory = InstructionInfoFactory::new();
    assert!(analysis.functions().len() > 10);
    let mut moved = Vec::new();
    for function in analysis.functions() {
        // Up to its writable part, the library has the same layout in the file and in memory.
        let start = function.offset as usize;
        let code = &corehop_runtime::LIBRARY[start..start + function.size_bytes as usize];
        let decoder = Decoder::with_ip(64, code, function.offset, DecoderOptions::NONE);
        for instruction in decoder {
            let used = factory.info(&instruction).used_registers();
            let vector = used.iter().map(|r| r.register());
            if let Some(register) = vector.into_iter().find(|r| r.is_vector_register()) {
                let is_written = instruction.op0_register().is_vector_register();
                moved.push((register.number(), instruction.mnemonic(), is_written));
            }
        }
    }
    moved.sort_unstable();
    let lower = |n| [(n, Mnemonic::Movaps, false), (n, Mnemonic::Movaps, true)];
    let upper = |n| {
        [
            (n, Mnemonic::Vmovdqa32, false),
            (n, Mnemonic::Vmovdqa32, true),
            (n, Mnemonic::Vptestmd, false),
            (n, Mnemonic::Vpxord, true),
        ]
    };
    let mut once: Vec<_> = (0..16).flat_map(lower).collect();
    once.extend((16..32).flat_map(upper));
    once.sort_unstable();
    assert_eq!(moved, once, "each is saved once and restored once");
}

#[test]
fn a_thread_that_loses_its_cpu_while_it_reads_clocks_takes_no_wrong_rate() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&mut Command::new(build_alone(folder.path(), "clocks")));
    assert!(ran.status.success(), "{}", ran.errors);
}
