//! Foreign programs pass their own tests while their threads migrate.
//!
//! This is `make test-transparent` (scripts/upstream) on some units of two programs: Debian's
//! Python interpreter, with the tests of its package, and stress-ng, which checks itself.

mod needs_programs_with_tests {
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn what_passes_bare_passes_wherever_threads_are_moved() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        let ran = Command::new(checkout.join(".venv/bin/python"))
            .args(["-B", "-m", "upstream"])
            .current_dir(checkout)
            .env("PYTHONPATH", "scripts")
            .env("UPSTREAM_SUITES", "python stress-ng")
            .env("UPSTREAM_UNITS", "short")
            .env("UPSTREAM_UNIT_SECONDS", "120")
            .env("UPSTREAM_BACKENDS", "count carrier affinity")
            .output()
            .expect("run scripts/setup.sh test: it makes .venv");
        let printed = String::from_utf8_lossy(&ran.stdout);
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{printed}\n{errors}");
        let last = printed.lines().last().unwrap_or_default();
        assert!(last.ends_with(" passed, 0 failed"), "{printed}");
    }
}
