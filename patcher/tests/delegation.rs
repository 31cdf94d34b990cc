//! Threads go back when calls end, in whatever way they end, and nothing else changes.

mod workshop;

#[test]
fn probe() {
    use std::process::Command;
    use workshop::*;
    let folder = tempfile::tempdir().unwrap();
    let binary = build(folder.path(), "delegates", &[], &["delegates.cpp"]);
    let plan = plan_of_all_calls(&binary, 2);
    let analysis = corehop_patcher::Analysis::of(&binary).unwrap();
    for f in &plan.functions { if f.mode == corehop_plans::Mode::Enter { println!("{} {:?}", f.symbol, analysis.return_reason(f.offset)); } }
    let patched = patched(&binary, &plan, folder.path());
    for trial in ["returns", "exceptions", "jumps", "signals", "threads", "thread_ends", "processes", "contexts", "deep"] {
        let plain = run(Command::new(&binary).arg(trial));
        for backend in ["off", "count", "affinity", "carrier"] {
            let file = folder.path().join("stats");
            let mut command = Command::new(&patched.output);
            command.arg(trial).env("COREHOP_BACKEND", backend).env("COREHOP_STATS", &file).env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
            let hooked = run(&mut command);
            println!("{trial} {backend} {:?} {}", hooked.status, hooked.output == plain.output);
            if hooked.output != plain.output || !hooked.errors.is_empty() { println!("{}\n---\n{}\n{}", plain.output, hooked.output, hooked.errors); }
            if backend != "off" {
            let s = Statistics::read(&file);
            let f = ["calls", "returned", "unwound", "continued", "stayed", "open", "hops_back"].map(|k| s.of_calls(k));
            println!("    {f:?} hops {} failed {}", s.total("hops"), s.total("failed_hops"));
            }
        }
    }
}
