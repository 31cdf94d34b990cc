//! A plan's functions as names of segments.

use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use corehop_simulator::detail::{START, Segments};
use corehop_traces::{Function, FunctionId, Module};

fn function(module: u32, offset: u64, symbol: &str, name: &str) -> Function {
    Function {
        module,
        offset,
        size_bytes: 0,
        symbol: symbol.into(),
        name: name.into(),
        unpatchable: None,
    }
}

fn plan(functions: &[(u64, &str, u32)]) -> Plan {
    let planned = functions
        .iter()
        .map(|&(offset, symbol, core)| PlannedFunction {
            module: "/usr/bin/server".into(),
            build_id: "0a1b".into(),
            offset,
            symbol: symbol.into(),
            to: Destination::Core(core),
            mode: Mode::Enter,
        });
    Plan {
        version: corehop_plan::VERSION,
        machine: "tiny".into(),
        trace: "server.trace".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: planned.collect(),
    }
}

fn segments(functions: &[(u64, &str, u32)]) -> Result<Segments, String> {
    let module = Module {
        path: "/usr/bin/server".into(),
        build_id: "0a1b".into(),
        load_bias: 0,
        start: 0,
        end: 4096,
    };
    let functions_of_trace = [
        function(0, 0x40, "_Z5parsev", "parse()"),
        function(0, 0x80, "main", "main"),
        function(0, 0xc0, "_Z6commitv", "commit()"),
    ];
    let segments = Segments::from_plan(&plan(functions), &[module], &functions_of_trace);
    segments.map_err(|error| error.to_string())
}

#[test]
fn each_planned_function_begins_a_segment_of_its_own_also_on_a_shared_core() {
    let segments = segments(&[(0xc0, "_Z6commitv", 1), (0x40, "_Z5parsev", 1)]).unwrap();
    assert_eq!(segments.names(), [START, "commit()", "parse()"]);
    let begun = (0..4).map(|function| segments.begun_by(FunctionId(function)));
    assert_eq!(begun.collect::<Vec<_>>(), [Some(2), None, Some(1), None]);
}

#[test]
fn without_a_plan_all_is_one_segment() {
    let segments = Segments::default();
    assert_eq!(segments.names(), [START]);
    assert_eq!(segments.begun_by(FunctionId(0)), None);
}

#[test]
fn a_function_that_the_trace_does_not_know_is_refused() {
    let refused = segments(&[(0x44, "nowhere", 0)]).unwrap_err();
    assert!(
        refused.starts_with("function nowhere at offset 0x44 of /usr/bin/server"),
        "{refused}"
    );
}
