//! A server whose best split needs delegated calls: a function that works on an L2 full of data
//! calls another one that does the same, and then continues with its own data.

use crate::definitions;
use crate::searching::found;
use corehop_partitioner::delegation::Delegate;
use corehop_partitioner::{Outcome, Settings};
use corehop_simulator::{CoreId, Machine};
use corehop_traces::{CodeBlock, EndReason, FunctionId, Kind, Trace, Writer, WriterOptions};
use std::path::Path;

const CODE: u64 = 0x40_0000;
const REQUESTS: u64 = 30;
/// Data lines of each function: with the lines of code, just within an L2 of 4096 lines.
const LINES: u64 = 3000;
const RETURN_ADDRESS_AT: u64 = 0x7000_0000;

/// Writes a code block of no function, with two instructions.
fn block(writer: &mut Writer, offset: u64) -> u32 {
    let block = CodeBlock::new(CODE + offset, [4, 4]);
    writer.code_block(&block, None).unwrap()
}

fn trace(path: &Path) -> Trace {
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(path, &options, "serve", CODE).unwrap();
    let mut function = |named| {
        definitions::function(&mut writer, (module, CODE), named, None).expect("a function")
    };
    let (serve, lookup) = (function(("serve", 0)), function(("lookup", 0x400)));
    let (calling, called) = (block(&mut writer, 0x100), block(&mut writer, 0x108));
    let returning = block(&mut writer, 0x500);
    let thread = writer.thread(1, 1).unwrap();
    let work = |writer: &mut Writer, block: u32, first: u64| {
        writer.execution(thread, block).unwrap();
        for line in first..first + LINES {
            let address = 0x1000_0000 + line * 64;
            writer.data(thread, 0, Kind::Load, 8, address).unwrap();
        }
    };
    for request in 0..REQUESTS {
        writer.stamp(thread, request).unwrap();
        writer.request(thread).unwrap();
        work(&mut writer, serve, 0);
        writer.execution(thread, calling).unwrap();
        let at_end = |writer: &mut Writer, kind| {
            writer.data(thread, 1, kind, 8, RETURN_ADDRESS_AT).unwrap();
        };
        at_end(&mut writer, Kind::Store);
        work(&mut writer, lookup, LINES);
        writer.execution(thread, returning).unwrap();
        at_end(&mut writer, Kind::Load);
        work(&mut writer, called, 0);
    }
    writer.finish(EndReason::RequestsReached).unwrap();
    Trace::open(path).unwrap()
}

fn search(delegate: Delegate) -> Outcome {
    search_with(delegate, &[])
}

fn search_with(delegate: Delegate, one_way: &[FunctionId]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let settings = Settings {
        delegate,
        one_way,
        ..Settings::default()
    };
    let trace = trace(&folder.path().join("lookups.trace"));
    found(&trace, &[machine.into()], &settings)
}

#[test]
fn a_function_that_cannot_go_back_is_not_asked_to() {
    let outcome = search_with(Delegate::Take, &[FunctionId(1)]);
    let found = outcome.delegation.unwrap();
    assert_eq!(found.tried, 2);
    let alone = found.alone.iter().map(|variant| &variant.delegated[..]);
    assert_eq!(alone.collect::<Vec<_>>(), [[FunctionId(0)]]);
    assert!(!found.best.delegated.contains(&FunctionId(1)));
    assert_eq!(outcome.delegated, found.best.delegated);
}

#[test]
fn asked_to_tell_it_tells_and_leaves_the_split_as_it_was() {
    let outcome = search(Delegate::Tell);
    assert_eq!(
        outcome.split,
        [0, 1].map(|index| (FunctionId(index), CoreId(index)))
    );
    assert_eq!(outcome.delegated, []);
    let found = outcome.delegation.unwrap();
    assert!(found.pays());
    assert_eq!((found.tried, found.rounds), (4, 2));
    let alone = found.alone.iter().map(|variant| &variant.delegated[..]);
    assert_eq!(
        alone.collect::<Vec<_>>(),
        [[FunctionId(0)], [FunctionId(1)]]
    );
    assert_eq!(found.best.delegated, [FunctionId(1)]);
    assert_eq!(found.best.replay, found.alone[1].replay);
    // On the second core, `serve` and `lookup` evict each other's lines in every request.
    let held_out = outcome.evaluated.held_out.unwrap();
    assert!(held_out.split.l2.misses() >= held_out.requests * 2 * LINES);
    assert_eq!(held_out.hops, held_out.requests * 2);
    let better = found.held_out.unwrap();
    // The only remaining miss is the return address, stored on one core and loaded on the other.
    assert_eq!(better.split.l2.misses(), better.requests);
    assert_eq!(better.hops, better.requests * 2);
    assert_eq!(better.baseline, held_out.baseline);
    let busy: u64 = better.busy_cycles.iter().sum();
    assert_eq!(busy, better.split.cycles);
}

#[test]
fn asked_to_take_it_evaluates_the_split_that_goes_back() {
    let outcome = search(Delegate::Take);
    assert_eq!(
        (&outcome.split[..], &outcome.delegated[..]),
        (
            &[0, 1].map(|index| (FunctionId(index), CoreId(index)))[..],
            &[FunctionId(1)][..]
        )
    );
    let held_out = outcome.evaluated.held_out.unwrap();
    let counted = (held_out.split.l2.misses(), held_out.hops);
    assert_eq!(counted, (held_out.requests, held_out.requests * 2));
    let searched = outcome.evaluated.searched;
    assert_eq!(
        searched.split.l2.misses(),
        outcome.delegation.unwrap().searched.split.l2.misses()
    );
}

#[test]
fn asked_not_to_look_it_says_nothing() {
    let outcome = search(Delegate::Never);
    assert!(outcome.delegation.is_none());
    assert_eq!(outcome.delegated, []);
}
