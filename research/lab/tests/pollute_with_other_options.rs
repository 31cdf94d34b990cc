//! `corehop-lab pollute` with a plan or physical indexing: the figures without a buffer equal those
//! of `corehop replay` with the same options, and pages are those of the index.

use crate::coloured_pages::{HOT, PAGE, STREAM, machine};
use crate::conforming;
use crate::definitions;
use corehop_traces::{EndReason, Kind, Page, WriterOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const CODE: u64 = 0x40_0000;

const PLAN: &str = "\
version = 1
machine = \"coloured\"
trace = \"t\"
cores = 2
seed = 1
[[function]]
module = \"/usr/bin/server\"
build_id = \"0a1b\"
offset = 0
symbol = \"serve\"
core = 0
mode = \"enter\"
[[function]]
module = \"/usr/bin/server\"
build_id = \"0a1b\"
offset = 64
symbol = \"stream\"
core = 1
mode = \"enter\"
";

/// Distance from a page to its page of physical memory.
const FRAMES: u64 = 0x8000;
/// The bit that distinguishes a physical address from others.
const PHYSICAL: u64 = 1 << 63;

fn record(path: &Path) -> Result<(), corehop_traces::Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "serve", CODE)?;
    let blocks = [("serve", 0), ("stream", 64)]
        .map(|named| definitions::function(&mut writer, (module, CODE), named, None));
    let [serve, stream] = blocks;
    let (serve, stream) = (serve?, stream?);
    let pages: Vec<Page> = HOT.chain(STREAM).map(located).collect();
    writer.pages(&pages)?;
    let thread = writer.thread(1, 1)?;
    writer.stamp(thread, 1)?;
    for _ in 0..3 {
        for (block, pages) in [(serve, HOT), (serve, HOT), (stream, STREAM)] {
            for page in pages {
                writer.execution(thread, block)?;
                writer.data(thread, 0, Kind::Load, 8, page * PAGE + 0x80)?;
            }
        }
        writer.system_call(thread, libc::SYS_read as i32, Some(0))?;
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

fn located(number: u64) -> Page {
    Page {
        process_id: 1,
        since: 0,
        number,
        frame: number + FRAMES,
    }
}

/// Returns the output of the product for `replay`, and of this program for `pollute`.
fn told(command: &str, folder: &Path, options: &[&str]) -> Value {
    let program = match command {
        "pollute" => PathBuf::from(crate::LAB),
        _ => crate::product(),
    };
    let output = Command::new(program)
        .args([command, "t.trace", "--machine", "coloured.toml", "--json"])
        .args(options)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{options:?}: {said}");
    conforming::read(&[command], &output.stdout)
}

#[test]
fn without_a_buffer_all_is_as_in_a_plain_replay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("coloured.toml"), machine(2)).unwrap();
    std::fs::write(folder.join("split.toml"), PLAN).unwrap();
    record(&folder.join("t.trace")).unwrap();
    let named = |first: u64| {
        let pages = STREAM.map(|page| format!("{:#x}", page * PAGE + first));
        pages.collect::<Vec<_>>().join(",")
    };
    let cases: [(&[&str], u64); 4] = [
        (&[], 0),
        (&["--baseline", "thread-per-core"], 0),
        (&["--plan", "split.toml"], 0),
        (&["--index", "physical"], PHYSICAL + FRAMES * PAGE),
    ];
    for (options, first) in cases {
        let plain = told("replay", folder, options);
        let pages = named(first);
        let polluted = told("pollute", folder, &[options, &["--pages", &pages]].concat());
        let (before, after) = (
            &polluted["pollute"]["before"],
            &polluted["pollute"]["after"],
        );
        assert_eq!(
            before["counters"]["l2"], plain["counters"]["l2"],
            "{options:?}"
        );
        for same in ["accesses", "hops", "cores", "placement", "index"] {
            assert_eq!(polluted[same], plain[same], "{options:?}: {same}");
        }
        let misses = |side: &Value| side["counters"]["l2"]["misses"].as_u64().unwrap();
        match options {
            // On a separate core the stream evicts nothing of the others.
            ["--plan", _] => assert_eq!(misses(after), misses(before)),
            _ => assert!(misses(after) < misses(before), "{options:?}"),
        }
    }
}

#[test]
fn pages_of_the_other_index_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("coloured.toml"), machine(2)).unwrap();
    record(&folder.path().join("t.trace")).unwrap();
    let page = format!("{:#x}", STREAM.start * PAGE);
    let output = Command::new(crate::LAB)
        .args(["pollute", "t.trace", "--machine", "coloured.toml"])
        .args(["--index", "physical", "--pages", &page])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let expected = format!("t.trace: nothing that is replayed is on page {page}");
    assert!(said.contains(&expected), "{said}");
}
