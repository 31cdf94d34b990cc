//! Requests marked by a no-op: in a server compiled with the header, and in a library loaded before
//! a server without it.

use crate::recording::{Recording, compile};
use corehop_traces::{Kind, Trace};
use std::path::Path;

const HEADERS: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/runtime/include");

/// Fifteen requests of two kinds, each of which stores once to each of fifty cells.
const SERVER: &str = r#"
#include <corehop.h>
#include <stdio.h>
static volatile long cells[50];
static void serve(void) { for (int cell = 0; cell < 50; cell++) cells[cell] = cell; }
int main(void) {
    printf("%p\n", (void *)cells);
    fflush(stdout);
    for (int round = 0; round < 5; round++) {
        COREHOP_REQUEST(1);
        serve();
        COREHOP_REQUEST(1); COREHOP_REQUEST(65535);
        serve();
    }
    return 0;
}
"#;

/// Records the server, and counts the stores to its cells in each request.
fn recorded(marker: &str) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SERVER, &[HEADERS]);
    let mut recording = Recording::start_in(folder, ["--request-at", marker, "--", "./server"]);
    let trace = recording.trace();
    let printed = recording.stdout();
    let cells = u64::from_str_radix(&printed.trim()[2..], 16).unwrap();
    stores(&trace, cells)
}

fn stores(trace: &Trace, cells: u64) -> Vec<usize> {
    let mut counts = vec![0; trace.requests().len()];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let stores = execution.accesses.iter().filter(|access| {
            access.kind == Kind::Store && (cells..cells + 400).contains(&access.address)
        });
        if let Some(request) = execution.request {
            counts[request.index()] += stores.count();
        }
    }
    counts
}

#[test]
fn a_no_op_begins_a_request_and_each_number_can_be_chosen() {
    assert_eq!(recorded("magic"), [50, 0, 50].repeat(5));
    assert_eq!(recorded("magic:1"), [50, 50].repeat(5));
    assert_eq!(recorded("magic:65535"), [100, 100, 100, 100, 50]);
}

/// A server compiled without the header: it calls a function of a library once per request.
const UNMARKED: &str = r#"
#include <stdio.h>
#include <unistd.h>
static volatile long cells[50];
int main(void) {
    printf("%p\n", (void *)cells);
    fflush(stdout);
    for (int round = 0; round < 8; round++) {
        if (getpgid(0) < 0) return 1;
        for (int cell = 0; cell < 50; cell++) cells[cell] = cell;
    }
    return 0;
}
"#;

/// Returns the library in docs/guide/requests.md, for another function.
fn library_of_the_docs(function: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/requests.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let lines = docs
        .lines()
        .skip_while(|line| *line != "    #define _GNU_SOURCE");
    let lines = lines.take_while(|line| !line.starts_with("    cc "));
    let library = lines.take_while(|line| line.starts_with("    ") || line.is_empty());
    let library: Vec<&str> = library.map(str::trim_start).collect();
    library.join("\n").replace("take_request", function)
}

#[test]
fn a_library_loaded_first_marks_requests_of_a_server_that_was_not_compiled_for_it() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", UNMARKED, &[]);
    let library = library_of_the_docs("getpgid");
    let options = [HEADERS, "-shared", "-fPIC"];
    compile(folder.path(), "mark.so", &library, &options);
    let marker = [
        "--request-at",
        "magic:7",
        "--preload",
        "mark.so",
        "--",
        "./server",
    ];
    let mut recording = Recording::start_in(folder, marker);
    let trace = recording.trace();
    let printed = recording.stdout();
    let cells = u64::from_str_radix(&printed.trim()[2..], 16).unwrap();
    assert_eq!(stores(&trace, cells), [50; 8]);
}

#[test]
fn a_library_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let marker = ["--request-at", "magic", "--preload", "no.so"];
    let command = marker.into_iter().chain(["--", "redis-server"]);
    let mut recording = Recording::start_in(folder, command);
    assert_eq!(recording.finish().code(), Some(3));
    let said = recording.stderr();
    assert!(said.contains("--preload no.so: "), "{said}");
}
