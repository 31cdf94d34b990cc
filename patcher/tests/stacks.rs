//! The stacks of a hooked program as debuggers and profilers see them.

use crate::workshop::{self, build, patched, plan_of, run};
use corehop_patcher::InMemory;
use corehop_plan::Mode;
use std::process::Command;

#[test]
fn within_a_hop_the_stack_leads_to_whoever_called_the_hooked_function() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "stacks", &["-rdynamic"], &["stacks.cpp"]);
    let stack = "hop: calls_it calls_that main\n";
    // The first call moves to core 1 and stays there; or both calls move there and back.
    for (mode, hops) in [(Mode::Enter, 1), (Mode::Call, 4)] {
        let mut plan = plan_of(&program, 2, &[("hooked", 1)]);
        plan.functions[0].mode = mode;
        let place = folder.path().join(format!("{mode:?}"));
        std::fs::create_dir(&place).unwrap();
        let mut in_file = Command::new(patched(&program, &plan, &place).output);
        let hooks = InMemory::new(&program, &plan).unwrap();
        let mut in_memory = Command::new(&program);
        hooks.hook(&mut in_memory, None);
        for command in [&mut in_file, &mut in_memory] {
            command.env("COREHOP_BACKEND", "affinity");
            if let Some(processors) = workshop::two_processors() {
                command.env("COREHOP_CPUS", processors);
            }
            let finished = run(command);
            assert_eq!(finished.output, stack.repeat(hops) + "9\n", "{mode:?}");
            assert_eq!(finished.errors, "");
        }
    }
}
