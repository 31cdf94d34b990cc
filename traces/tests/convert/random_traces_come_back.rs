//! Checks random traces of several threads: everything that a format can represent is unchanged
//! after an export and an import.

use super::exported::as_records;
use crate::convert::streams::{
    code_blocks, fit, mappings, pages, steps, write_machine, write_processes,
};
use corehop_traces::convert::{Options, drmemtrace, lackey};
use corehop_traces::{Header, Index, Kind, RequestId, Trace, Writer, WriterOptions, check};
use proptest::prelude::*;
use std::path::Path;

fn writer(path: &Path) -> Writer {
    Writer::create(path, &Header::default(), &WriterOptions::default()).unwrap()
}

fn as_text(trace: &Trace) -> Vec<u8> {
    let mut text = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        for access in execution.accesses {
            lackey::write(access, &mut text).unwrap();
        }
    }
    text
}

/// A load or store: operating system's thread, request, instruction, kind, size and address. With
/// several processes the instruction is omitted, because the import has it in one of the memories.
type Data = (u32, Option<RequestId>, Option<u64>, Kind, u16, u64);

/// Returns every load and store in replay order.
fn data(trace: &Trace, of_several: bool) -> Vec<Data> {
    let mut found = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let thread = trace.threads()[execution.thread.index()].os_thread_id;
        let data = execution.accesses.iter().filter(|a| a.kind != Kind::Fetch);
        found.extend(data.map(|a| {
            let request = execution.request;
            let pc = (!of_several).then_some(a.pc);
            (thread, request, pc, a.kind, a.size_bytes, a.address)
        }));
    }
    found
}

proptest! {
    #[test]
    fn text_comes_back_as_the_same_accesses(
        blocks in code_blocks(), mut steps in steps(), mappings in mappings(),
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        write_processes(&first, &blocks, &steps, 1000, &mappings);
        let text = as_text(&Trace::open(&first).unwrap());
        let imported = lackey::import(&text[..], "text", writer(&second), &Options::default());
        let lines = text.iter().filter(|&&byte| byte == b'\n').count();
        prop_assert_eq!(imported.unwrap().summary.accesses, lines as u64);
        prop_assert!(check(&second).unwrap().sound());
        let again = as_text(&Trace::open(&second).unwrap());
        prop_assert_eq!(String::from_utf8(again), String::from_utf8(text));
    }

    #[test]
    fn records_come_back_with_threads_requests_and_instructions(
        blocks in code_blocks(),
        mut steps in steps(),
        // A machine's processes share a page by its location: no mappings describe it.
        (mappings, pages) in prop_oneof![
            (mappings(), Just(Vec::new())),
            (Just(Vec::new()), pages()),
        ],
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        write_machine(&first, &blocks, &steps, 1000, (&mappings, &pages));
        let mut first = Trace::open(&first).unwrap();
        let records = as_records(&first);
        let options = Options::default();
        let imported = drmemtrace::import(&records[..], "records", writer(&second), &options);
        prop_assert_eq!(imported.unwrap().left_out, vec![]);
        prop_assert!(check(&second).unwrap().sound());
        let mut second = Trace::open(&second).unwrap();
        let of_several = first.process_count() > 1;
        prop_assert_eq!(data(&second, of_several), data(&first, of_several));
        let complete = |trace: &Trace| trace.requests().iter().filter(|r| r.complete).count();
        prop_assert_eq!(complete(&second), complete(&first));
        prop_assert!(as_records(&second) == records);
        first.index_by(Index::Physical);
        second.index_by(Index::Physical);
        prop_assert_eq!(data(&second, true), data(&first, true));
    }
}
