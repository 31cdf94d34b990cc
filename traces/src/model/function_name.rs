//! How people name functions: `name`, `Class::name`, `module:name`, without parameters.
//!
//! The recorder looks for such a name among a server's symbols, and the search among a trace's
//! functions. Both must find the same function.

/// Splits at the colon of `module:name`, which is not one of a C++ `::`.
pub fn module_and_name(text: &str) -> Option<(&str, &str)> {
    let colon = text.find(':')?;
    let name = text[colon + 1..].strip_prefix(':').is_none();
    (name && colon > 0).then(|| (&text[..colon], &text[colon + 1..]))
}

/// `ns::f(int, g(*)(int)) const` without its parameters: what comes before the parenthesis that
/// matches the last closing one.
pub fn without_parameters(name: &str) -> &str {
    let Some(close) = name.rfind(')') else {
        return name;
    };
    let mut depth = 0;
    for (place, byte) in name
        .bytes()
        .enumerate()
        .take(close + 1)
        .collect::<Vec<_>>()
        .iter()
        .rev()
    {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &name[..*place];
        }
    }
    name
}

/// Whether a demangled name, its parameters left out, is `name` or ends in it as its last parts.
pub fn ends_in(demangled: &str, name: &str) -> bool {
    let base = without_parameters(demangled);
    let before = base.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_told_from_a_namespace() {
        assert_eq!(
            module_and_name("libc.so.6:read"),
            Some(("libc.so.6", "read"))
        );
        assert_eq!(module_and_name("ns::run"), None);
        assert_eq!(module_and_name("run"), None);
    }
}
