//! Reads callgrind's format, as far as the Valgrind manual defines it for files without calls, and
//! runs Valgrind's own reader.

use super::{Entry, file_name, plain};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

pub fn read(text: &str) -> Vec<Entry> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# callgrind format"));
    let mut named = HashMap::<(char, &str), &str>::new();
    let mut events = Vec::new();
    let (mut module, mut function, mut file) = ("", "", "");
    let mut entries = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        if let Some((key, rest)) = line.split_once(": ") {
            match key {
                "version" => assert_eq!(rest, "1"),
                "positions" => assert_eq!(rest, "line"),
                "events" => events = rest.split(' ').collect(),
                _ => assert!(["creator", "cmd"].contains(&key), "{line}"),
            }
        } else if let Some((key, rest)) = line.split_once('=') {
            let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
            assert!(number.starts_with('(') && number.ends_with(')'), "{line}");
            // Files have one numbering, however they are named.
            let kind = if key.starts_with('f') && key != "fn" {
                'l'
            } else {
                key.as_bytes()[1].into()
            };
            if !name.is_empty() {
                assert!(named.insert((kind, number), name).is_none(), "{line}");
            }
            let name = named[&(kind, number)];
            match key {
                "ob" => module = name,
                "fn" => function = name,
                "fl" | "fi" | "fe" => file = name,
                _ => panic!("{line}"),
            }
        } else {
            let numbers: Vec<u64> = line.split(' ').map(|of| of.parse().unwrap()).collect();
            assert_eq!(numbers.len(), events.len() + 1, "{line}");
            for (figure, &value) in events.iter().zip(&numbers[1..]) {
                entries.push(Entry {
                    module: file_name(module),
                    functions: vec![function.to_owned()],
                    place: (file != "???").then(|| (file.to_owned(), numbers[0])),
                    figure: plain(figure),
                    value,
                });
            }
        }
    }
    entries
}

/// The totals that callgrind_annotate prints, by event.
pub fn annotated(file: &Path) -> BTreeMap<String, u64> {
    let output = Command::new("callgrind_annotate").arg(file).output();
    let output = output.expect("callgrind_annotate is part of Valgrind");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let of = |prefix: &str| text.lines().find_map(|line| line.strip_prefix(prefix));
    let events = of("Events shown:").unwrap().split_whitespace().map(plain);
    let totals = text
        .lines()
        .find(|line| line.contains("PROGRAM TOTALS"))
        .unwrap();
    // Each has its share behind it: `1,234 (100.0%)`.
    let totals = totals
        .split_whitespace()
        .filter(|word| !word.starts_with('('));
    let totals = totals.map_while(|word| word.replace(',', "").replace('.', "0").parse().ok());
    events.zip(totals).collect()
}
