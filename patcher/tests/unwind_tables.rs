//! The unwind tables of patched files, as readelf decodes them. At each displaced instruction, they
//! agree with the original's; for all other code, they are unchanged.

use crate::workshop::{build, patched, plan_of_all_calls, plan_of_all_imports};
use corehop_plan::Plan;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::{Object, ObjectSection, ObjectSegment};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const JUMP: u8 = 0xe9;
const JUMP_SIZE: u64 = 5;
const RED_ZONE: u64 = 128;
/// `lea rsp, [rsp - 128]`: the beginning of a hook's code.
const STEP_DOWN: [u8; 5] = [0x48, 0x8d, 0x64, 0x24, 0x80];

/// Locations of registers, as readelf prints them.
type Row = BTreeMap<String, String>;

/// The tables of a file: each row, with its end, by its beginning.
struct Tables(BTreeMap<u64, (u64, Row)>);

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

/// Whether a rule states more than that the function has left a register unchanged.
fn is_said((name, rule): &(&&str, &str)) -> bool {
    *rule != "s" && (*rule != "u" || **name == "ra")
}

impl Tables {
    fn of(file: &Path) -> Tables {
        let read = Command::new("readelf")
            .arg("--debug-dump=frames-interp")
            .arg(file)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&read.stderr), "");
        let text = String::from_utf8(read.stdout).unwrap();
        let mut common = BTreeMap::new();
        let mut tables = Tables(BTreeMap::new());
        for entry in text.split("\n\n") {
            let mut lines = entry
                .lines()
                .skip_while(|line| !line.contains("IE \"") && !line.contains(" FDE "));
            let Some(head) = lines.next() else { continue };
            let words: Vec<&str> = head.split_whitespace().collect();
            let names: Vec<&str> = lines
                .next()
                .unwrap_or("")
                .split_whitespace()
                .skip(1)
                .collect();
            let rows = lines.map(|line| {
                let mut words = line.split_whitespace();
                let at = hexadecimal(words.next().unwrap());
                let said = names.iter().zip(words).filter(is_said);
                (
                    at,
                    said.map(|(name, rule)| (name.to_string(), rule.into()))
                        .collect(),
                )
            });
            let rows: Vec<(u64, Row)> = rows.collect();
            let named = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
            let Some(range) = named("pc=") else {
                let first = rows.into_iter().next().map(|row| row.1);
                common.insert(words[0].to_owned(), first.unwrap_or_default());
                continue;
            };
            let (start, end) = range.split_once("..").unwrap();
            tables.add(
                &common[named("cie=").unwrap()],
                hexadecimal(start),
                rows,
                hexadecimal(end),
            );
        }
        tables
    }

    fn add(&mut self, common: &Row, start: u64, mut rows: Vec<(u64, Row)>, end: u64) {
        if rows.first().is_none_or(|row| row.0 > start) {
            rows.insert(0, (start, common.clone()));
        }
        let ends: Vec<u64> = rows.iter().skip(1).map(|row| row.0).chain([end]).collect();
        for ((start, row), end) in rows.into_iter().zip(ends) {
            if start < end {
                self.0.insert(start, (end, row));
            }
        }
    }

    fn at(&self, address: u64) -> Option<&Row> {
        let (_, (end, row)) = self.0.range(..=address).next_back()?;
        (address < *end).then_some(row)
    }
}

/// Returns the row with that many more bytes on the stack.
fn with_pushed(row: Option<&Row>, pushed: u64) -> Option<Row> {
    let mut row = row?.clone();
    let frame = row.get_mut("CFA")?;
    if let Some(offset) = frame.strip_prefix("rsp+") {
        *frame = format!("rsp+{}", offset.parse::<u64>().unwrap() + pushed);
    }
    Some(row)
}

fn at_entry() -> Row {
    [("CFA", "rsp+8"), ("ra", "c-8")]
        .map(|(name, rule)| (name.into(), rule.into()))
        .into()
}

struct Code(Vec<(u64, Vec<u8>)>);

impl Code {
    fn of(file: &Path) -> Code {
        let bytes = std::fs::read(file).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let segments = file
            .segments()
            .filter(|segment| segment.permissions().executable());
        Code(
            segments
                .map(|segment| (segment.address(), segment.data().unwrap().into()))
                .collect(),
        )
    }

    fn at(&self, address: u64) -> &[u8] {
        let mut segments = self.0.iter();
        let within = segments.find_map(|(start, bytes)| {
            bytes.get(usize::try_from(address.checked_sub(*start)?).ok()?..)
        });
        within.unwrap_or_default()
    }

    fn instruction(&self, address: u64) -> Instruction {
        Decoder::with_ip(64, self.at(address), address, DecoderOptions::NONE).decode()
    }
}

/// Returns the jumps to hooks, with the target of each.
fn jumps(original: &Code, patched: &Code) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let (hooks, code) = patched.0.last().unwrap();
    let hooks = *hooks..hooks + code.len() as u64;
    for (start, before) in &original.0 {
        let now = patched.at(*start);
        let mut at = 0;
        while at < before.len() {
            // One byte of a jump may be the same as before.
            let jump = patched.instruction(start + at as u64);
            let is_changed =
                (at..before.len().min(at + JUMP_SIZE as usize)).any(|at| now[at] != before[at]);
            if now[at] == JUMP && is_changed && hooks.contains(&jump.near_branch64()) {
                found.push((start + at as u64, jump.near_branch64()));
                at += JUMP_SIZE as usize;
            } else {
                assert_eq!(now[at], before[at], "{:#x}", start + at as u64);
                at += 1;
            }
        }
    }
    found
}

/// Both files, and the tables of each.
struct Compared {
    original: Code,
    before: Tables,
    patched: Code,
    after: Tables,
    /// Whether the hook is at a stub; some tables describe a stub by a single expression.
    is_stub: bool,
}

impl Compared {
    /// Checks that the row at `at` is that of `from`, with this many bytes pushed.
    fn check(&self, at: u64, from: u64, pushed: u64) {
        let expected = match self.is_stub {
            true => with_pushed(Some(&at_entry()), pushed),
            false => with_pushed(self.before.at(from), pushed),
        };
        assert_eq!(self.after.at(at), expected.as_ref(), "{at:#x} as {from:#x}");
    }

    /// Follows the code, at `at`, of the hook at `site`.
    fn follow(&mut self, site: u64, mut at: u64) {
        let first = self.original.instruction(site);
        let is_indirect = first.flow_control() == FlowControl::IndirectBranch;
        self.is_stub = is_indirect && first.is_ip_rel_memory_operand();
        let hook = [0, RED_ZONE, RED_ZONE + 8, RED_ZONE + 8];
        let begins = at;
        if self.patched.at(at).starts_with(&STEP_DOWN) {
            at = self.pass(at, site, &hook);
        }
        if self.is_stub && self.patched.instruction(at).mnemonic() == Mnemonic::Push {
            self.pass(at, site, &[0, 8]);
            return;
        }
        // Displaced code at a return ends with the return.
        let is_entry = at > begins;
        let mut from = site;
        while from < site + JUMP_SIZE || !is_entry {
            let instruction = self.original.instruction(from);
            match instruction.flow_control() {
                FlowControl::Return => {
                    self.check_return(at, from);
                    return;
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    at = self.pass(at, from, &[0, 8, 16, 16, 16, 8]);
                }
                flow => {
                    at = self.pass(at, from, &[0]);
                    let goes_on = [FlowControl::Next, FlowControl::ConditionalBranch];
                    if !goes_on.contains(&flow) {
                        return;
                    }
                }
            }
            from = instruction.next_ip();
        }
        self.check(at, from, 0);
    }

    /// Checks instructions with these numbers of pushed bytes; returns where they end.
    fn pass(&self, mut at: u64, from: u64, pushed: &[u64]) -> u64 {
        for &pushed in pushed {
            self.check(at, from, pushed);
            at = self.patched.instruction(at).next_ip();
        }
        at
    }

    /// At a return hook, all registers are the caller's, whatever is below the stack.
    fn check_return(&self, at: u64, from: u64) {
        let instruction = self.patched.instruction(at);
        if instruction.flow_control() != FlowControl::Call {
            self.check(at, from, 0);
            return;
        }
        let frame = self.before.at(from).map(|row| row["CFA"].as_str());
        assert_eq!(frame, Some("rsp+8"), "{from:#x}");
        for at in [at, instruction.next_ip()] {
            assert_eq!(self.after.at(at), Some(&at_entry()), "{at:#x} as {from:#x}");
        }
    }
}

/// Compares a program with its patched copy; returns the number of its hooks.
fn compare(original: &Path, plan: &Plan) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let output = patched(original, plan, folder.path()).output;
    let mut compared = Compared {
        original: Code::of(original),
        before: Tables::of(original),
        patched: Code::of(&output),
        after: Tables::of(&output),
        is_stub: false,
    };
    for (start, row) in &compared.before.0 {
        assert_eq!(compared.after.0.get(start), Some(row), "{start:#x}");
    }
    let jumps = jumps(&compared.original, &compared.patched);
    for &(site, to) in &jumps {
        compared.follow(site, to);
    }
    jumps.len()
}

#[test]
fn each_displaced_instruction_has_the_row_of_the_original_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [&[&str]; 2] = [&[], &["-no-pie", "-fno-pie"]];
    for flags in kinds {
        let shapes = build(
            folder.path(),
            "shapes",
            flags,
            &["shapes.cpp", "registers.S"],
        );
        assert!(compare(&shapes, &plan_of_all_imports(&shapes, 2)) > 30);
        let sources = ["unwinds.cpp", "unwinds.s"];
        let unwinds = build(folder.path(), "unwinds", flags, &sources);
        assert!(compare(&unwinds, &plan_of_all_imports(&unwinds, 2)) > 20);
    }
}

#[test]
fn so_have_those_of_real_programs() {
    let nginx = Path::new("/usr/sbin/nginx");
    assert!(compare(nginx, &plan_of_all_calls(nginx, 2)) > 2000);
    let redis = Path::new("/usr/bin/redis-server");
    assert!(compare(redis, &plan_of_all_imports(redis, 2)) > 4000);
}

#[test]
fn a_patched_file_whose_tables_say_something_else_of_a_function_does_not_verify() {
    let folder = tempfile::tempdir().unwrap();
    let sources = ["unwinds.cpp", "unwinds.s"];
    let unwinds = build(folder.path(), "unwinds", &[], &sources);
    let output = patched(&unwinds, &plan_of_all_calls(&unwinds, 2), folder.path()).output;
    let mut bytes = std::fs::read(&output).unwrap();
    let section = object::File::parse(&*bytes).unwrap();
    let section = section.section_by_name(".eh_frame").unwrap();
    let (offset, size) = section.file_range().unwrap();
    let tables = offset as usize..(offset + size) as usize;
    // DW_CFA_def_cfa_offset: 16
    let at = bytes[tables.clone()]
        .windows(2)
        .position(|code| code == [0x0e, 16]);
    bytes[tables.start + at.unwrap() + 1] = 32;
    std::fs::write(&output, bytes).unwrap();
    let findings = corehop_patcher::verify(&output, Some(&unwinds))
        .unwrap()
        .findings;
    let first = findings.first().map(String::as_str).unwrap_or_default();
    assert!(
        first.starts_with("its unwind information for"),
        "{findings:?}"
    );
}

/// A program, its plan, and the positions of its tables in the file.
static PLANNED: LazyLock<(tempfile::TempDir, PathBuf, Plan, Vec<usize>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let sources = ["unwinds.cpp", "unwinds.s"];
    let binary = build(folder.path(), "unwinds", &[], &sources);
    let plan = plan_of_all_calls(&binary, 2);
    let bytes = std::fs::read(&binary).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let ranges = [".eh_frame", ".eh_frame_hdr"].map(|name| {
        let (offset, size) = file.section_by_name(name).unwrap().file_range().unwrap();
        offset as usize..(offset + size) as usize
    });
    (folder, binary, plan, ranges.into_iter().flatten().collect())
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damaged_tables_are_copied_or_left_or_a_refusal(
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let (_, binary, plan, places) = &*PLANNED;
        let folder = tempfile::tempdir().unwrap();
        let damaged = folder.path().join("unwinds");
        let mut bytes = std::fs::read(binary).unwrap();
        bytes[places[place.index(places.len())]] ^= 1 << bit;
        std::fs::write(&damaged, bytes).unwrap();
        let output = folder.path().join("patched");
        if corehop_patcher::patch(&damaged, plan, &output, false).is_ok() {
            let verified = corehop_patcher::verify(&output, Some(&damaged)).unwrap();
            prop_assert_eq!(verified.findings, Vec::<String>::new());
        }
    }
}
