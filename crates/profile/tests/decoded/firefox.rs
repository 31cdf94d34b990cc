//! Reads processed profiles of the Firefox Profiler, version 60, as `profile.ts` and
//! `CHANGELOG-formats.md` of its repository define them.

use super::{Entry, file_name, plain};
use serde_json::Value;

/// A row of a table's column.
fn cell<'v>(table: &'v Value, column: &str, row: &Value) -> &'v Value {
    let column = table[column].as_array().unwrap();
    assert_eq!(table["length"], column.len());
    &column[row.as_u64().unwrap() as usize]
}

pub fn read(file: &Value) -> Vec<Entry> {
    assert_eq!(file["meta"]["preprocessedProfileVersion"], 60);
    let shared = &file["shared"];
    let text = |number: &Value| {
        let text = &shared["stringArray"][number.as_u64().unwrap() as usize];
        text.as_str().unwrap().to_owned()
    };
    let [stacks, frames, functions] =
        ["stackTable", "frameTable", "funcTable"].map(|table| &shared[table]);
    let mut entries = Vec::new();
    for thread in file["threads"].as_array().unwrap() {
        let samples = &thread["samples"];
        for sample in 0..samples["length"].as_u64().unwrap() {
            let of = |column| cell(samples, column, &sample.into());
            assert_eq!(*of("time"), sample);
            let (mut names, mut place, mut module) = (Vec::new(), None, String::new());
            let mut stack = of("stack");
            let mut depths = Vec::new();
            // From the innermost.
            while !stack.is_null() {
                let frame = cell(stacks, "frame", stack);
                let function = cell(frames, "func", frame);
                names.insert(0, text(cell(functions, "name", function)));
                depths.insert(0, cell(frames, "inlineDepth", frame).as_u64().unwrap());
                let source = cell(functions, "source", function);
                if let (None, Some(line)) = (&place, cell(frames, "line", frame).as_u64()) {
                    place = Some((text(cell(&shared["sources"], "filename", source)), line));
                }
                let resource = cell(functions, "resource", function);
                if *resource != -1 {
                    let library = cell(&shared["resourceTable"], "lib", resource);
                    let library = &file["libs"][library.as_u64().unwrap() as usize];
                    module = file_name(library["path"].as_str().unwrap());
                    let named = text(cell(&shared["resourceTable"], "name", resource));
                    assert_eq!(named, module);
                }
                stack = cell(stacks, "prefix", stack);
            }
            assert!(depths.into_iter().eq(0..names.len() as u64));
            entries.push(Entry {
                module,
                functions: names,
                place,
                figure: plain(thread["name"].as_str().unwrap()),
                value: of("weight").as_u64().unwrap(),
            });
        }
    }
    entries
}
