//! Escapes for characters that affect the program that displays them.
//!
//! Names, paths and commands come from files of any author. Some characters move a terminal's
//! cursor, end its line, or reverse the order of letters, so that a reader sees text that is not
//! there. This module escapes them: in one form for readers, and in one each for JSON and TOML,
//! which parse to the original text.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character affects the display: control characters (C0, DELETE and C1), the line and
/// paragraph separators, and characters that change the text direction (Unicode's `Bidi_Control`).
pub fn acts(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn replaced(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(acts) {
        return text.into();
    }
    let mut inert = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match acts(character) {
            true => escape(&mut inert, character),
            false => inert.push(character),
        }
    }
    inert.into()
}

/// Returns the text on one line, for readers; such characters are escaped as in Rust, `\n` or
/// `\u{1b}`.
pub fn inert(text: &str) -> Cow<'_, str> {
    replaced(text, |inert, character| {
        inert.extend(character.escape_default());
    })
}

/// Returns the same JSON on one line; JSON strings may contain some of these characters unescaped.
pub fn inert_json(json: &str) -> Cow<'_, str> {
    replaced(json, four_digits)
}

/// Escapes a character with four digits; none of these characters needs more.
fn four_digits(inert: &mut String, character: char) {
    write!(inert, "\\u{:04x}", u32::from(character)).expect("writing to a string");
}

/// Returns the text as a TOML string on one line, if it contains such characters.
pub(crate) fn inert_toml(text: &str) -> Option<String> {
    text.contains(acts).then(|| {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", replaced(&quoted, four_digits))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One character of each kind, and characters that need no escape.
    const TEXT: &str = "\0\t\n\r\u{8}\u{1b}[2J\u{7f}\u{85}\u{9b}\u{61c}\u{200f}\u{2028}\u{202e}\
                        \u{2069} naïve λ 漢 \u{200d}\\\"'";

    #[test]
    fn people_see_what_would_act() {
        assert_eq!(
            inert(TEXT),
            "\\u{0}\\t\\n\\r\\u{8}\\u{1b}[2J\\u{7f}\\u{85}\\u{9b}\\u{61c}\\u{200f}\\u{2028}\
             \\u{202e}\\u{2069} naïve λ 漢 \u{200d}\\\"'"
        );
        assert!(matches!(inert("f(int, λ)"), Cow::Borrowed(_)));
    }

    #[test]
    fn toml_reads_back_what_was_written() {
        let text = inert_toml(TEXT).unwrap();
        assert!(!text.contains(acts));
        let document = format!("name = {text}").parse::<toml::Table>().unwrap();
        assert_eq!(document["name"].as_str(), Some(TEXT));
        assert_eq!(inert_toml("f(\"x\")"), None);
    }

    #[test]
    fn json_means_what_it_did() {
        let json = "{\"\u{9b}\u{2028}\": \"\u{7f}\u{202e}, \\n\"}";
        let inert = inert_json(json);
        assert_eq!(inert, "{\"\\u009b\\u2028\": \"\\u007f\\u202e, \\n\"}");
    }
}
