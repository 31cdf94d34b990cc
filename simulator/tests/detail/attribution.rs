//! Code addresses and the functions that contain them.

use corehop_simulator::detail::{CodeOwner, Spans};
use corehop_traces::{Function, FunctionId, Module};

fn module(start: u64, load_bias: u64) -> Module {
    Module {
        path: "/usr/bin/server".into(),
        build_id: String::new(),
        load_bias,
        start,
        end: start + 0x1000,
    }
}

fn function(module: u32, offset: u64, size_bytes: u64) -> Function {
    Function {
        module,
        offset,
        size_bytes,
        symbol: "f".into(),
        name: "f".into(),
        unpatchable: None,
    }
}

#[track_caller]
fn owners(functions: &[Function], addresses: &[u64], expected: &[CodeOwner]) {
    let modules = [module(0x10_1000, 0x10_0000), module(0x20_0000, 0x20_0000)];
    let spans = Spans::new(&modules, functions);
    let found: Vec<CodeOwner> = addresses.iter().map(|&at| spans.owner(at)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_function_holds_its_bytes_and_its_module_the_rest() {
    let functions = [function(1, 0x40, 0x10), function(0, 0x1010, 0x20)];
    owners(
        &functions,
        &[
            0x10_100f, 0x10_1010, 0x10_102f, 0x10_1030, 0x20_0040, 0x20_0050, 0x30_0000,
        ],
        &[
            CodeOwner::Module(0),
            CodeOwner::Function(FunctionId(1)),
            CodeOwner::Function(FunctionId(1)),
            CodeOwner::Module(0),
            CodeOwner::Function(FunctionId(0)),
            CodeOwner::Module(1),
            CodeOwner::Elsewhere,
        ],
    );
}

#[test]
fn a_function_of_unknown_size_reaches_to_the_next_or_to_its_modules_end() {
    let functions = [function(0, 0x1100, 0), function(0, 0x1200, 0)];
    owners(
        &functions,
        &[
            0x10_10ff, 0x10_1100, 0x10_11ff, 0x10_1200, 0x10_1fff, 0x10_2000,
        ],
        &[
            CodeOwner::Module(0),
            CodeOwner::Function(FunctionId(0)),
            CodeOwner::Function(FunctionId(0)),
            CodeOwner::Function(FunctionId(1)),
            CodeOwner::Function(FunctionId(1)),
            CodeOwner::Elsewhere,
        ],
    );
}

#[test]
fn code_inside_two_functions_is_the_inner_ones() {
    let functions = [
        function(0, 0x1100, 0x100),
        function(0, 0x1120, 0x20),
        function(0, 0x1150, 0x10),
    ];
    owners(
        &functions,
        &[
            0x10_1100, 0x10_1120, 0x10_1140, 0x10_1150, 0x10_1170, 0x10_1200,
        ],
        &[
            CodeOwner::Function(FunctionId(0)),
            CodeOwner::Function(FunctionId(1)),
            CodeOwner::Function(FunctionId(0)),
            CodeOwner::Function(FunctionId(2)),
            CodeOwner::Function(FunctionId(0)),
            CodeOwner::Module(0),
        ],
    );
}

#[test]
fn a_trace_without_functions_has_modules_only() {
    owners(&[], &[0x20_0000], &[CodeOwner::Module(1)]);
}
