//! A plan applies to a trace of the same build, either completely or not at all.

use corehop_plan::{Argument, Destination, Mode, Plan, PlannedFunction};
use corehop_simulator::detail::Segments;
use corehop_simulator::{CoreId, Split};
use corehop_traces::{Function, FunctionId, Module};

fn module(path: &str, build_id: &str) -> Module {
    Module {
        path: path.into(),
        build_id: build_id.into(),
        load_bias: 0,
        start: 0,
        end: 4096,
    }
}

fn function(module: u32, offset: u64) -> Function {
    Function {
        module,
        offset,
        size_bytes: 0,
        symbol: format!("f{offset:x}"),
        name: format!("f{offset:x}"),
        unpatchable: None,
    }
}

fn plan(functions: &[(&str, u64, u32)]) -> Plan {
    let planned = |&(build_id, offset, core): &(&str, u64, u32)| PlannedFunction {
        module: "/usr/bin/server".into(),
        build_id: build_id.into(),
        offset,
        symbol: format!("f{offset:x}"),
        to: Destination::Core(core),
        mode: Mode::Enter,
    };
    Plan {
        version: corehop_plan::VERSION,
        machine: "tiny".into(),
        trace: "server.trace".into(),
        cores: 3,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: functions.iter().map(planned).collect(),
    }
}

/// A server and a library with functions at the same offsets.
fn split(functions: &[(&str, u64, u32)]) -> Result<Split, String> {
    let modules = [
        module("/lib/library.so", "cafe"),
        module("/usr/bin/server", "0a1b"),
    ];
    let recorded = [function(0, 0x40), function(1, 0x40), function(1, 0x80)];
    Split::from_plan(&plan(functions), &modules, &recorded).map_err(|error| error.to_string())
}

#[test]
fn functions_are_matched_by_build_and_offset() {
    let split = split(&[("0a1b", 0x40, 2), ("0a1b", 0x80, 0)]).unwrap();
    assert_eq!(split.cores(), 3);
    let cores = (0..4).map(|function| split.core_of(FunctionId(function)));
    assert_eq!(
        cores.collect::<Vec<_>>(),
        [None, Some(CoreId(2)), Some(CoreId(0)), None]
    );
}

#[test]
fn a_function_planned_for_its_call_is_delegated_and_no_other() {
    let modules = [module("/usr/bin/server", "0a1b")];
    let recorded = [function(0, 0x40), function(0, 0x80)];
    let mut plan = plan(&[("0a1b", 0x80, 2), ("0a1b", 0x40, 1)]);
    plan.functions[0].mode = Mode::Call;
    let split = Split::from_plan(&plan, &modules, &recorded).unwrap();
    assert_eq!(split.delegated().collect::<Vec<_>>(), [FunctionId(1)]);
    assert_eq!(
        [0, 1].map(|f| split.delegates(FunctionId(f))),
        [false, true]
    );
    let expected = [(FunctionId(0), CoreId(1)), (FunctionId(1), CoreId(2))];
    assert_eq!(
        split,
        Split::new(expected).delegating([1, 1, 7].map(FunctionId))
    );
}

#[test]
fn a_plan_for_another_build_is_refused() {
    assert_eq!(
        split(&[("0a1b", 0x40, 2), ("beef", 0x80, 0)]).unwrap_err(),
        "function f80 is planned for build beef of /usr/bin/server, but the trace holds build \
         '0a1b' of it: replay the trace of that build, or search this one"
    );
}

#[test]
fn a_plan_by_an_argument_is_refused_where_functions_have_cores() {
    let modules = [module("/usr/bin/server", "0a1b")];
    let mut plan = plan(&[("0a1b", 0x40, 0), ("0a1b", 0x80, 0)]);
    plan.version = corehop_plan::VERSION_BY_ARGUMENT;
    plan.functions[1].to = Destination::By(Argument::ALL[2].into());
    let recorded = [function(0, 0x40), function(0, 0x80)];
    let expected = "function f80 of /usr/bin/server goes by argument 3, but this works only if all \
                    calls of a function go to one core: see the plan's counts with \
                    `corehop replay --plan`";
    let refused = Split::from_plan(&plan, &modules, &recorded).unwrap_err();
    assert_eq!(refused.to_string(), expected);
    let segments = Segments::from_plan(&plan, &modules, &recorded).unwrap();
    assert_eq!(segments.begun_by(FunctionId(1)), Some(2));
}

#[test]
fn a_planned_function_that_was_never_entered_is_refused() {
    assert_eq!(
        split(&[("0a1b", 0xc0, 2)]).unwrap_err(),
        "function fc0 at offset 0xc0 of /usr/bin/server was never entered in the trace: remove it \
         from the plan, or correct its offset"
    );
}

#[test]
fn a_split_without_functions_leaves_everything_on_one_core() {
    assert_eq!(Split::default().cores(), 1);
    assert_eq!(Split::default().core_of(FunctionId(0)), None);
}
