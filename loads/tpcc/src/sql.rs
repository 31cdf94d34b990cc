//! Statements as text, with escaped values inserted.
//!
//! Prepared statements would move parsing out of the measured requests. Text is what most
//! applications send, because it is the default of JDBC drivers.

use mysql::Value;

/// Replaces each `?` by the next value. No template has a `?` in a literal.
pub fn fill(template: &str, values: &[Value]) -> String {
    let mut pieces = template.split('?');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut values = values.iter();
    for piece in pieces {
        let value = values.next().expect("a value for every question mark");
        text.push_str(&value.as_sql(false));
        text.push_str(piece);
    }
    assert!(values.next().is_none(), "a question mark for every value");
    text
}

/// Returns the beginning of a statement, for messages.
pub fn excerpt(template: &str) -> String {
    let words: Vec<&str> = template.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_quotes_and_escapes() {
        let values = [7.into(), "O'Hara \\ ?".into(), None::<u32>.into()];
        assert_eq!(
            fill("insert into t values (?, ?, ?)", &values),
            r"insert into t values (7, 'O\'Hara \\ ?', NULL)"
        );
    }

    #[test]
    fn messages_show_the_beginning_of_a_long_statement() {
        assert_eq!(excerpt("select\n   1"), "select 1");
        assert_eq!(excerpt(&"select ".repeat(20)).len(), 63);
    }
}
