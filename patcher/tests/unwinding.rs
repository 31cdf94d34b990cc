//! After each instruction of a hooked call, the stack leads to the caller with its registers. The
//! call runs from its caller into the hook, the displaced code and the function, and back.

use crate::workshop::{self, build, imported, joined, patched, plan_of, run};
use corehop_patcher::InMemory;
use corehop_plan::{Mode, Plan};
use std::path::{Path, PathBuf};
use std::process::Command;

const FUNCTIONS: [&str; 6] = [
    "with_frame",
    "saves",
    "makes_room",
    "calls_early",
    "aligns",
    "is_short",
];

/// Plans all of the fixture's functions on core 1, where its thread moves first, or on alternating
/// cores.
pub fn plan(program: &Path, mode: Mode, alternates: bool) -> Plan {
    let cores = (0..).map(|number| if alternates { number % 2 } else { 1 });
    let named: Vec<_> = FUNCTIONS.into_iter().zip(cores).collect();
    let mut plan = plan_of(program, 2, &named);
    plan.functions.extend(imported(program, 2, |function, _| {
        (function.symbol.as_deref() == Some("getppid@plt")).then_some(mode)
    }));
    assert_eq!(plan.functions.len(), FUNCTIONS.len() + 1);
    for function in &mut plan.functions {
        function.mode = mode;
    }
    joined([plan_of(program, 2, &[("goes_first", 1)]), plan])
}

/// Returns the fixture's output if the stack leads to the caller everywhere but in the hooks' own
/// code.
fn expected(in_hooks: &str, lost_there: &str) -> String {
    let functions = FUNCTIONS.iter().map(|name| (*name, 2));
    let lines = functions.chain([("an import", 1)]).map(|(name, value)| {
        format!(
            "{name} gives {value} in steps: lost no, in hooks {in_hooks}, lost there {lost_there}\n"
        )
    });
    lines.collect::<String>().repeat(2)
}

/// Builds the fixture, with its functions visible to `dladdr`.
pub fn built(folder: &Path, flags: &[&str]) -> PathBuf {
    let flags = [&["-rdynamic"], flags].concat();
    build(folder, "unwinds", &flags, &["unwinds.cpp", "unwinds.s"])
}

#[test]
fn at_each_instruction_of_a_hooked_call_the_stack_leads_to_its_caller() {
    let kinds: [&[&str]; 2] = [&[], &["-no-pie", "-fno-pie"]];
    let kinds = kinds
        .into_iter()
        .flat_map(|flags| [(flags, Mode::Enter), (flags, Mode::Call)]);
    for (flags, mode) in kinds {
        let folder = tempfile::tempdir().unwrap();
        let program = built(folder.path(), flags);
        let bare = run(&mut Command::new(&program));
        assert_eq!(bare.output, expected("no", "no"), "{}", bare.errors);
        // The kernel thread is stepped, and with the carrier backend it must not stay behind.
        let [stays, alternates] = ["stays", "alternates"].map(|name| {
            let plan = plan(&program, mode, name == "alternates");
            let place = folder.path().join(name);
            std::fs::create_dir(&place).unwrap();
            patched(&program, &plan, &place).output
        });
        let ways = [
            ("off", &alternates),
            ("count", &alternates),
            ("affinity", &alternates),
        ];
        for (backend, program) in ways.into_iter().chain([("carrier", &stays)]) {
            let mut command = Command::new(program);
            workshop::hops_by(&mut command, backend);
            let hooked = run(&mut command);
            let said = (hooked.output, hooked.errors);
            let expected = (expected("yes", "no"), String::new());
            assert_eq!(said, expected, "{flags:?} {mode:?} {backend}");
        }
    }
}

#[test]
fn with_hooks_in_memory_the_stack_is_lost_in_the_code_of_hooks_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &[]);
    for mode in [Mode::Enter, Mode::Call] {
        let hooks = InMemory::new(&program, &plan(&program, mode, true)).unwrap();
        let mut command = Command::new(&program);
        workshop::hops_by(hooks.hook(&mut command, None), "count");
        let hooked = run(&mut command);
        let said = (hooked.output, hooked.errors);
        assert_eq!(said, (expected("yes", "yes"), String::new()), "{mode:?}");
    }
}
