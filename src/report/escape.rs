//! Text from traces and plans inside a page: function names are whatever a linker accepts, so none
//! of them may end the element that it stands in.

/// Text as it stands between tags and in quoted attributes.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // What XML does not allow, in whatever spelling.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON inside a script element: `<` would end it, or begin a comment.
pub fn json_in_script(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}
