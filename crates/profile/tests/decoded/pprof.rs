//! Reads pprof's format: gzip unpacks it, and what follows is the wire format of protobuf, with the
//! numbers that `profile.proto` gives to fields.

use super::{Entry, file_name, plain};
use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// The fields of a message: numbers, and messages or strings.
#[derive(Default)]
struct Message<'b> {
    numbers: HashMap<u64, Vec<u64>>,
    bytes: HashMap<u64, Vec<&'b [u8]>>,
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number of more than 64 bits")
}

impl<'b> Message<'b> {
    fn read(mut bytes: &'b [u8]) -> Message<'b> {
        let mut message = Message::default();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            match key & 7 {
                0 => {
                    let number = varint(&mut bytes);
                    message.numbers.entry(key >> 3).or_default().push(number);
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    message.bytes.entry(key >> 3).or_default().push(value);
                }
                wire => panic!("wire type {wire}"),
            }
        }
        message
    }

    fn number(&self, field: u64) -> u64 {
        self.numbers.get(&field).map_or(0, |numbers| numbers[0])
    }

    fn messages(&self, field: u64) -> impl Iterator<Item = Message<'b>> {
        let of_field = self.bytes.get(&field).map_or(&[][..], Vec::as_slice);
        of_field.iter().map(|bytes| Message::read(bytes))
    }

    /// Numbers one after the other.
    fn packed(&self, field: u64) -> Vec<u64> {
        let mut bytes = self.bytes[&field][0];
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            numbers.push(varint(&mut bytes));
        }
        numbers
    }
}

/// By gzip itself.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut gzip = gzip.spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let output = gzip.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// The messages of a field by their ids.
fn by_id<'b>(profile: &Message<'b>, field: u64) -> HashMap<u64, Message<'b>> {
    let messages = profile.messages(field);
    let by_id: HashMap<_, _> = messages.map(|of| (of.number(1), of)).collect();
    assert!(!by_id.contains_key(&0), "0 is no id");
    by_id
}

pub fn read(bytes: &[u8]) -> Vec<Entry> {
    let bytes = unpacked(bytes);
    let profile = Message::read(&bytes);
    let strings = profile.bytes[&6]
        .iter()
        .map(|text| str::from_utf8(text).unwrap());
    let strings: Vec<&str> = strings.collect();
    assert_eq!(strings[0], "");
    let text = |of: &Message<'_>, field| strings[of.number(field) as usize];
    let figures = profile.messages(1).map(|of| {
        assert_eq!(text(&of, 2), "count");
        text(&of, 1)
    });
    let figures: Vec<&str> = figures.collect();
    assert_eq!(text(&profile, 14), figures[0]);
    let (mappings, locations) = (by_id(&profile, 3), by_id(&profile, 4));
    let functions = by_id(&profile, 5);
    let mut entries = Vec::new();
    for sample in profile.messages(2) {
        let at = sample.packed(1);
        assert_eq!(at.len(), 1);
        let location = &locations[&at[0]];
        let lines: Vec<Message<'_>> = location.messages(4).collect();
        let function = |line: &Message<'_>| &functions[&line.number(1)];
        // The innermost is the first.
        let place = lines.iter().find(|line| line.number(2) > 0);
        let place = place.map(|line| (text(function(line), 4).to_owned(), line.number(2)));
        let names = lines
            .iter()
            .rev()
            .map(|line| text(function(line), 2).to_owned());
        let names: Vec<String> = names.collect();
        let module = mappings
            .get(&location.number(2))
            .map_or("", |of| text(of, 5));
        let values = sample.packed(2);
        assert_eq!(values.len(), figures.len());
        for (figure, value) in figures.iter().zip(values) {
            entries.push(Entry {
                module: file_name(module),
                functions: names.clone(),
                place: place.clone(),
                figure: plain(figure),
                value,
            });
        }
    }
    entries
}

/// Path and build id of each module.
pub fn modules(bytes: &[u8]) -> Vec<[String; 2]> {
    let bytes = unpacked(bytes);
    let profile = Message::read(&bytes);
    let text = |of: &Message<'_>, field| {
        let text = profile.bytes[&6][of.number(field) as usize];
        String::from_utf8(text.to_vec()).unwrap()
    };
    let mappings = profile.messages(3).map(|of| [text(&of, 5), text(&of, 6)]);
    mappings.collect()
}
