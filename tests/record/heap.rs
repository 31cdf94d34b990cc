//! Objects on the heap: a recording has what programs log about their own calls of allocators, and
//! a profile counts what DHAT counts.

use crate::conforming;
use crate::recording::{Recording, compile};
use corehop_traces::{HeapEvent, Trace};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Whether an object begins, its address, and its size.
type Logged = (bool, u64, u64);

fn logged(folder: &Path) -> Vec<Logged> {
    let bytes = std::fs::read(folder.join("log")).unwrap();
    let words = bytes.chunks_exact(8);
    let words: Vec<u64> = words
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let events = words.chunks_exact(3);
    events.map(|one| (one[0] == 1, one[1], one[2])).collect()
}

/// Whether the program itself called the allocator, not a library.
fn is_of_program(trace: &Trace, event: &HeapEvent) -> bool {
    let mut modules = trace.modules().iter();
    let server = modules.find(|module| module.path.ends_with("server"));
    let server = server.unwrap();
    event.object.is_some_and(|object| server.holds(object.site))
}

/// The program's events, as it logs them.
fn recorded(trace: &Trace, log: &[Logged]) -> Vec<Logged> {
    let addresses: BTreeSet<u64> = log.iter().map(|&(_, address, _)| address).collect();
    let events = trace.heap_events().iter();
    let own = events.filter(|event| match event.object {
        Some(_) => is_of_program(trace, event),
        None => addresses.contains(&event.address),
    });
    own.map(|event| (event.object.is_some(), event.address, event.size_bytes))
        .collect()
}

/// Returns the logged events that belong into a trace: the one object from before the first request
/// that has not ended by then, and what follows.
fn expected(log: &[Logged]) -> Vec<Logged> {
    let begins_round = |event: &Logged| event.0 && event.2 == 100;
    let mut rounds = (0..).zip(log).filter(|(_, event)| begins_round(event));
    // The first round is before the first request.
    let (request, _) = rounds.nth(1).expect("a request");
    assert!(log[0].0 && log.len() > 200);
    [&log[..1], &log[request..]].concat()
}

/// Records the program that logs its calls, with further arguments.
fn calls(arguments: &[&str]) -> (Recording, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let source = include_str!("heap/calls.c");
    compile(
        folder.path(),
        "server",
        source,
        &["-Wl,--no-as-needed", "-lstdc++"],
    );
    let named = ["--allocator", "pool:2", "--allocator", "leaves"];
    let server = ["--request-at", "serve", "--", "./server"];
    let arguments = [arguments, &named[..], &server[..]].concat();
    let mut recording = Recording::start_in(folder, arguments);
    let trace = recording.trace();
    (recording, trace)
}

#[test]
fn a_recording_has_each_object_that_a_program_makes_and_ends() {
    let (recording, trace) = calls(&[]);
    let log = logged(recording.folder());
    assert_eq!(recorded(&trace, &log), expected(&log));
    let names: BTreeSet<&str> = trace.allocators().iter().map(String::as_str).collect();
    for name in ["malloc", "operator new", "operator new[]", "pool", "mmap"] {
        assert!(names.contains(name), "{names:?}");
    }
    assert!(!names.contains("leaves"));
}

#[test]
fn an_allocator_without_a_name_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <stdlib.h>\nvoid *pool(long size) { return malloc(size); }\n\
        void serve(long size) { free(pool(size)); }\n\
        int main(void) { for (long size = 1; size < 4; size++) serve(size); return 0; }\n";
    compile(
        folder.path(),
        "server",
        source,
        &["-fno-optimize-sibling-calls"],
    );
    let mut recording = Recording::start_in(folder, ["--request-at", "serve", "--", "./server"]);
    let trace = recording.trace();
    assert_eq!(trace.allocators(), ["malloc"]);
    let own: Vec<_> = trace.heap_events().iter().collect();
    let sizes: Vec<u64> = own.iter().map(|event| event.size_bytes).collect();
    assert_eq!(sizes, [1, 0, 2, 0, 3, 0]);
}

#[test]
fn an_argument_that_is_no_size_makes_no_object_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    // Both pools return large objects; of one, the first argument is an address.
    let source = "#include <stdlib.h>\n\
        void *from(void *pool, long size) { return pool ? malloc(size) : 0; }\n\
        void *sized(long size) { return malloc(size); }\n\
        void serve(void *pool) { free(from(pool, 300000)); free(sized(300000)); }\n\
        int main(void) {\n\
            char *pool = malloc(8);\n\
            for (int n = 0; n < 3; n++) serve(pool);\n\
            return 0;\n\
        }\n";
    let flags = ["-fno-optimize-sibling-calls", "-fno-inline"];
    compile(folder.path(), "server", source, &flags);
    let named = ["--allocator", "from:1", "--allocator", "sized"];
    let server = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, [&named[..], &server[..]].concat());
    let trace = recording.trace();
    let objects = trace.heap_events().iter().filter_map(|event| event.object);
    let of = |allocator: &str| {
        let mut objects = objects.clone();
        objects.any(|of| trace.allocators()[of.allocator as usize] == allocator)
    };
    assert!(of("sized") && !of("from"), "{:?}", trace.allocators());
    let told = recording.stderr();
    assert_eq!(
        told.matches("argument 1 of from is no size").count(),
        1,
        "{told}"
    );
    assert!(!told.contains("of sized"), "{told}");
}

#[test]
fn jemallocs_objects_are_recorded_too() {
    let library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
    assert!(Path::new(library).is_file(), "redis-server depends on it");
    let (recording, trace) = calls(&["--preload", library]);
    let log = logged(recording.folder());
    assert_eq!(recorded(&trace, &log), expected(&log));
}

#[test]
fn objects_of_threads_that_free_each_others_never_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let source = include_str!("heap/threads.c");
    compile(folder.path(), "server", source, &[]);
    let mut recording = Recording::start_in(folder, ["--request-at", "serve", "--", "./server"]);
    let trace = recording.trace();
    let mut live = BTreeMap::<u64, u64>::new();
    let mut begun = 0;
    for event in trace.heap_events() {
        let (first, size) = (event.address, event.size_bytes);
        if event.object.is_none() {
            assert_eq!(size, 0);
            assert!(live.remove(&first).is_some(), "{event:?}");
            continue;
        }
        begun += u64::from(is_of_program(&trace, event));
        let overlaps = live.range(..first + size).next_back();
        let overlaps = overlaps.filter(|&(start, size)| start + size > first);
        assert_eq!(overlaps, None, "{event:?}");
        live.insert(first, size);
    }
    assert_eq!(begun, 4 * 200);
    // What is left in the slots.
    let own = live.values().filter(|&&size| size <= 160 && size % 8 == 0);
    assert!(own.count() >= 16, "{live:?}");
}

/// What a place made and what was accessed there: objects, bytes, bytes loaded, bytes stored.
type Counts = [u64; 4];

/// By function and line of the call: what DHAT counts.
fn dhat(program: &Path) -> BTreeMap<String, Counts> {
    let out = program.with_file_name("dhat.json");
    let output = Command::new("valgrind")
        .args(["--tool=dhat", "--read-inline-info=yes"])
        .arg(format!("--dhat-out-file={}", out.display()))
        .arg(program)
        .output()
        .expect("valgrind");
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    let frames = report["ftbl"].as_array().unwrap();
    let mut counted = BTreeMap::<String, Counts>::new();
    for point in report["pps"].as_array().unwrap() {
        let stack = point["fs"].as_array().unwrap().iter();
        let mut stack = stack.map(|frame| frames[frame.as_u64().unwrap() as usize].as_str());
        // `0x109169: make (<stdin>:3)`
        let own = stack.find_map(|frame| frame.filter(|frame| frame.contains("(<stdin>:")));
        let Some((_, own)) = own.and_then(|own| own.split_once(": ")) else {
            continue;
        };
        let sums = counted.entry(own.replace(['(', ')'], "")).or_default();
        for (sum, key) in sums.iter_mut().zip(["tbk", "tb", "rb", "wb"]) {
            *sum += point[key].as_u64().unwrap();
        }
    }
    counted
}

/// The same from a profile. Each access has 8 bytes in one line.
fn profiled(recording: &Recording) -> BTreeMap<String, Counts> {
    let words = ["profile", "--json", "--by", "object", "--limit", "1000"];
    let profile = conforming::read(&["profile"], recording.told_by(&words));
    let rows = profile["views"][0]["rows"].as_array().unwrap().iter();
    let own = rows.filter_map(|row| {
        let (frame, made) = (&row["frames"][0], row.get("made")?);
        let line = &frame["line"];
        let file = frame["file"].as_str()?.rsplit('/').next()?;
        let name = format!("{} {file}:{line}", frame["function"].as_str()?);
        let count = |of: &Value| of.as_u64().unwrap();
        let [loads, stores] = ["loads", "stores"].map(|key| 8 * count(&row["cost"][key]));
        let counts = [
            count(&made["objects"]),
            count(&made["bytes"]),
            loads,
            stores,
        ];
        (file == "<stdin>").then_some((name, counts))
    });
    own.collect()
}

#[test]
fn objects_and_their_accesses_are_dhats() {
    for source in [
        include_str!("heap/objects.c"),
        include_str!("heap/strings.c"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path(), "server", source, &["-g"]);
        let expected = dhat(&program);
        let mut recording = Recording::start_in(folder, ["--request-at", "main", "--", "./server"]);
        recording.trace();
        assert_eq!(profiled(&recording), expected);
        assert!(expected.len() >= 3, "{expected:?}");
        let is_used = |counts: &Counts| counts.iter().all(|&count| count > 0);
        assert!(expected.values().all(is_used), "{expected:?}");
    }
}
