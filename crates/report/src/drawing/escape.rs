//! Escapes text from traces and plans for a page. Function names contain whatever a linker accepts.
//! None of them may end its element or change the direction of the text around it.

use corehop_plan::inert;
use serde_json::Value;

/// Escapes text for use between tags and in quoted attributes, on one line.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in inert(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Characters that XML does not allow, in any notation.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Renders JSON for a script element: a `<` in a string could end the element or begin a comment.
pub fn json_in_script(mut value: Value) -> String {
    make_inert(&mut value);
    value.to_string().replace('<', "\\u003c")
}

fn make_inert(value: &mut Value) {
    match value {
        Value::String(text) => *text = inert(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(make_inert),
        Value::Object(keys) => keys.values_mut().for_each(make_inert),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_ends_no_element_and_turns_nothing_around() {
        assert_eq!(
            escaped("a<b>\n\u{202e}\u{9b}'\u{fffe}"),
            "a&lt;b&gt;\\n\\u{202e}\\u{9b}&#39;\u{fffd}"
        );
    }

    #[test]
    fn strings_in_a_script_end_no_element_and_turn_nothing_around() {
        let value = json!({"names": ["</script>", "\u{1b}\u{2028}", 3]});
        let expected = r#"{"names":["\u003c/script>","\\u{1b}\\u{2028}",3]}"#;
        assert_eq!(json_in_script(value), expected);
    }
}
