//! Commands on other machines: each reads a made-up description of CPUs instead of the kernel's, in
//! a mount namespace.

#[allow(dead_code)] // the simulator's tests use more of it
#[path = "../simulator/tests/host/tree.rs"]
mod tree;

mod needs_mounts {
    use super::tree::{Tree, l2, l3};
    use std::process::{Command, Output};

    const IN_PLACE: &str = "mount --make-rprivate / && mount --bind \"$1\" /sys/devices/system/cpu \
                            && shift && exec \"$@\"";
    const SAMPLE: &str = "traces/samples/mariadb-tpcc.trace";

    /// Runs corehop with the tree as the description of the CPUs.
    fn corehop(tree: &Tree, arguments: &[&str]) -> Output {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", IN_PLACE, "sh"]);
        command.arg(tree.root()).arg(env!("CARGO_BIN_EXE_corehop"));
        let output = command.env("COREHOP_HOST", "").args(arguments).output();
        let output = output.expect("install util-linux");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !said.contains("unshare:") && !said.contains("mount:"),
            "run the tests as root, in a container with --privileged: {said}"
        );
        output
    }

    fn caches(tree: &Tree) -> String {
        let said = corehop(tree, &["doctor"]).stdout;
        let said = String::from_utf8(said).unwrap();
        let is_it = |line: &&str| line[9..].starts_with("caches ");
        said.lines().find(is_it).unwrap().to_owned()
    }

    /// Returns the CPUs that the tests may use, and another one that they may not use.
    fn cpus() -> (Vec<usize>, usize) {
        let allowed = corehop_support::topology::allowed();
        let other = allowed.last().unwrap() + 1;
        (allowed, other)
    }

    #[test]
    fn doctor_and_replay_take_the_caches_of_the_allowed_cpus() {
        let (mut all, other) = cpus();
        let allowed = all.clone();
        all.push(other);
        let tree = Tree::cores(&all, l2("2048K", 16, 2048), Some(l3("24576K", 12, 32_768)));
        for cpu in allowed {
            tree.write(&format!("cpu{cpu}/cache/index2/size"), "512K");
            tree.write(&format!("cpu{cpu}/cache/index2/ways_of_associativity"), "8");
        }
        let found = caches(&tree);
        assert!(
            found.starts_with("ok ") && found.contains(" L2 512 KiB, L3 24576 KiB"),
            "{found}"
        );
        let replay = corehop(&tree, &["replay", SAMPLE, "--machine", "host"]);
        assert_eq!(replay.status.code(), Some(0), "{replay:?}");
        assert_eq!(String::from_utf8(replay.stderr).unwrap(), "");
    }

    #[test]
    fn what_is_assumed_is_stated_by_all_that_simulate_the_host() {
        let (allowed, _) = cpus();
        let tree = Tree::cores(
            &allowed,
            l2("1024K", 16, 1024),
            Some(l3("32768K", 0, 32_768)),
        );
        let assumed = format!(
            "/sys/devices/system/cpu/cpu{}/cache/index3/ways_of_associativity: 0 is reported: 16 \
             ways are assumed, as size and sets make",
            allowed[0]
        );
        let found = caches(&tree);
        assert!(
            found.starts_with("warn ") && found.contains(&assumed),
            "{found}"
        );
        for arguments in [
            &["replay", SAMPLE, "--machine", "host"][..],
            &["screen", "--load", "true", "--", "false"],
            &[
                "partition",
                "/nowhere/a.trace",
                "--machine",
                "host",
                "--cores",
                "2",
            ],
        ] {
            let output = corehop(&tree, arguments);
            let said = String::from_utf8(output.stderr).unwrap();
            let stated = format!("corehop: machine host: {assumed}\n");
            assert!(said.starts_with(&stated), "{arguments:?}: {said}");
        }
    }

    #[test]
    fn caches_that_are_hidden_are_refused_with_the_folder_and_a_remedy() {
        let (allowed, _) = cpus();
        let tree = Tree::cores(&allowed, l2("1024K", 16, 1024), None);
        for cpu in &allowed {
            tree.remove(&format!("cpu{cpu}/cache"));
        }
        for arguments in [
            &["replay", SAMPLE, "--machine", "host"][..],
            &["screen", "--load", "true", "--", "false"],
            &["calibrate", "-o", "-"],
            &["partition", SAMPLE, "--machine", "host", "--cores", "2"],
        ] {
            let output = corehop(&tree, arguments);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {output:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            let expected = format!(
                "corehop: /sys/devices/system/cpu/cpu{}/cache: cannot detect this machine's \
                 caches: no caches are described",
                allowed[0]
            );
            assert!(said.starts_with(&expected), "{arguments:?}: {said}");
        }
    }
}
