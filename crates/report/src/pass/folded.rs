//! L2 misses by call stack, in the folded format of flame graphs: `one core;main;parse 12`. Each
//! stack is a line, under `one core` and under each core of the split, so that one graph shows
//! both.
//!
//! The format cannot express a semicolon in a name. Tools that fold perf's records replace it by a
//! colon, so two functions whose names differ only in that are merged. Here, such a character is
//! written as a backslash and its number, and so is the backslash. Every name can be read back.

use super::call_tree::{CallTree, ROOT};
use corehop_plan::acts;
use std::collections::BTreeMap;

/// Renders the lines, in the order of their text.
pub fn text(tree: &CallTree<'_>) -> String {
    let mut sums = BTreeMap::<String, u64>::new();
    let nodes = tree.nodes().iter().zip(0..);
    let on_one_core = nodes.map(|(node, number)| {
        let stack = stack(tree, number);
        (format!("one core{stack}"), node.missed_on_one_core)
    });
    let split = tree.missed().iter();
    let split = split.map(|(&(core, node), &missed)| {
        let stack = stack(tree, node);
        (format!("split;core {core}{stack}"), missed)
    });
    for (stack, missed) in on_one_core.chain(split) {
        if missed > 0 {
            *sums.entry(stack).or_default() += missed;
        }
    }
    let line = |(stack, missed): (String, u64)| format!("{stack} {missed}\n");
    sums.into_iter().map(line).collect()
}

/// Returns the names from the outermost call on, each preceded by a semicolon.
fn stack(tree: &CallTree<'_>, mut number: u32) -> String {
    let mut names = Vec::new();
    while number != ROOT {
        let node = tree.nodes()[number as usize];
        names.push(format!(";{}", spelled(&tree.name(node.owner))));
        number = node.caller;
    }
    names.reverse();
    names.concat()
}

/// Escapes the characters that end names or lines: `operator;` becomes `operator\x3b`.
fn spelled(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            ';' | '\\' => text += &format!("\\x{:02x}", u32::from(letter)),
            _ if acts(letter) && letter <= '\u{ff}' => {
                text += &format!("\\x{:02x}", u32::from(letter));
            }
            _ if acts(letter) => text += &format!("\\u{:04x}", u32::from(letter)),
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::spelled;
    use proptest::prelude::*;

    /// Decodes an escaped name.
    fn read(text: &str) -> String {
        let mut parts = text.split('\\');
        let mut name = parts.next().unwrap().to_owned();
        for part in parts {
            let digits = 1..if part.starts_with('x') { 3 } else { 5 };
            let number = u32::from_str_radix(&part[digits.clone()], 16).unwrap();
            name.push(char::from_u32(number).unwrap());
            name += &part[digits.end..];
        }
        name
    }

    #[test]
    fn only_what_would_end_a_name_or_a_line_is_spelled_out() {
        for (name, text) in [
            ("std::vector<int>::operator[](long) const", None),
            ("a%3B&#59:x3b", None),
            ("f;g", Some("f\\x3bg")),
            ("f:g", None),
            ("f\\x3bg", Some("f\\x5cx3bg")),
            ("f\ng\r\u{1b}[2J\u{9b}", Some("f\\x0ag\\x0d\\x1b[2J\\x9b")),
            ("f\u{202e}g", Some("f\\u202eg")),
        ] {
            assert_eq!(spelled(name), text.unwrap_or(name));
            assert_eq!(read(&spelled(name)), name);
        }
    }

    proptest! {
        #[test]
        fn every_name_can_be_had_back(name in r"[;:\\x3b5cu\u{202e}\PC\n\r\t]{0,20}") {
            let text = spelled(&name);
            prop_assert!(!text.contains([';', '\n', '\r']));
            prop_assert_eq!(read(&text), name);
        }
    }
}
