//! Function names as people write them: `name`, `Class::name`, `module:name`, without parameters.
//!
//! The recorder looks up such a name among a server's symbols, the search among a trace's
//! functions, and the profile reader among its calls. All must find the same function.
//!
//! C++ names can contain spaces, commas and parentheses: `Map<int, char>::get`, `(anonymous
//! namespace)::f`, `foo<(e)0>::bar`, `operator()`. Only brackets at the outermost level count; the
//! symbols of operators (`operator<`, `operator,`) are not brackets.

use std::borrow::Cow;
use std::ops::Range;

/// Symbols of operators that look like brackets or separators; a longer symbol precedes its
/// prefixes.
const OPERATORS: [&str; 12] = [
    "()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "<",
];

/// Qualifiers that may follow the parameters of a function.
const QUALIFIERS: [&str; 6] = ["const", "volatile", "noexcept", "restrict", "&&", "&"];

/// Why a list of names is invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoNames {
    /// A bracket has no counterpart.
    #[error(
        "unbalanced '{bracket}' in '{text}'; commas separate names, except within the brackets of \
         a name"
    )]
    Unpaired {
        /// The bracket.
        bracket: char,
        /// The list.
        text: String,
    },
    /// A name before, after or between commas is empty.
    #[error("empty name in '{text}'; commas separate names, and do not follow the last")]
    Missing {
        /// The list.
        text: String,
    },
}

/// Returns the names in `f,Map<int, char>::get`: a comma within brackets does not separate names.
///
/// # Errors
/// [`NoNames`] if a name is empty or a bracket has no counterpart.
pub fn list(text: &str) -> Result<Vec<String>, NoNames> {
    let outermost = outermost(text);
    if let Some(at) = outermost.unpaired {
        return Err(NoNames::Unpaired {
            bracket: char::from(text.as_bytes()[at]),
            text: text.into(),
        });
    }
    let ends = outermost.commas.iter().copied().chain([text.len()]);
    let mut start = 0;
    let names = ends.map(|end| {
        let name = text[start..end].trim();
        start = end + 1;
        match name.is_empty() {
            true => Err(NoNames::Missing { text: text.into() }),
            false => Ok(name.to_owned()),
        }
    });
    names.collect()
}

/// Splits at the colon of `module:name`, which is not part of a C++ `::`.
pub fn module_and_name(text: &str) -> Option<(&str, &str)> {
    let colon = text.find(':')?;
    let name = text[colon + 1..].strip_prefix(':').is_none();
    (name && colon > 0).then(|| (&text[..colon], &text[colon + 1..]))
}

/// Removes the parameters from `ns::f(int, g(*)(int)) const`. `(anonymous namespace)::f` and
/// `operator()` have none.
pub fn without_parameters(name: &str) -> &str {
    let groups = outermost(name).groups;
    let of_parameters = groups.iter().rev().find(|group| {
        let is_round = name.as_bytes()[group.start] == b'(';
        is_round && group.start > 0 && is_qualifiers(&name[group.end..])
    });
    of_parameters.map_or(name, |group| &name[..group.start])
}

/// Returns whether two names are equal, ignoring spaces that do not separate words.
pub fn is_same(name: &str, other: &str) -> bool {
    name == other || squeezed(name) == squeezed(other)
}

/// Returns whether a demangled name, with or without its parameters, is `name`.
pub fn is_called(demangled: &str, name: &str) -> bool {
    is_same(demangled, name) || is_same(without_parameters(demangled), name)
}

/// Returns whether a demangled name without its parameters is `name` or ends in it at a `::`. The
/// return type of a function template may precede its name.
pub fn ends_in(demangled: &str, name: &str) -> bool {
    let base = squeezed(without_parameters(demangled));
    let before = base.strip_suffix(&*squeezed(name));
    before.is_some_and(|before| {
        let is_type = base.ends_with('>') && before.ends_with(' ') && !before.ends_with(" to ");
        before.is_empty() || before.ends_with("::") || is_type
    })
}

/// Positions of the brackets and commas at the outermost level of a name.
#[derive(Default)]
struct Outermost {
    /// Each range from an opening bracket to the end of its closing bracket.
    groups: Vec<Range<usize>>,
    commas: Vec<usize>,
    /// The first bracket without a counterpart.
    unpaired: Option<usize>,
}

fn outermost(name: &str) -> Outermost {
    let bytes = name.as_bytes();
    let mut found = Outermost::default();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(end) = end_of_operator(name, at) {
            at = end;
            continue;
        }
        match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'>') => at += 1,
            b'(' | b'<' | b'[' | b'{' => open.push(at),
            b',' if open.is_empty() => found.commas.push(at),
            // Within parentheses it may also be part of an operator.
            b'>' if open.last().is_some_and(|&last| bytes[last] != b'<') => {}
            close @ (b')' | b'>' | b']' | b'}') => {
                let opening = |&&at: &&usize| closing(bytes[at]) == close;
                match open.iter().rev().find(opening).copied() {
                    Some(opened) => {
                        open.retain(|&other| other < opened);
                        if open.is_empty() {
                            found.groups.push(opened..at + 1);
                        }
                    }
                    None => {
                        found.unpaired.get_or_insert(at);
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    found.unpaired = found.unpaired.or(open.first().copied());
    found
}

/// Returns the closing bracket for `open`.
fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'<' => b'>',
        b'[' => b']',
        _ => b'}',
    }
}

/// Returns the end of `operator` and its symbol, if they begin at `start` and the symbol looks like
/// brackets or a comma.
fn end_of_operator(name: &str, start: usize) -> Option<usize> {
    let bytes = name.as_bytes();
    let is_inside = start > 0 && is_of_word(bytes[start - 1]);
    let behind = bytes[start..].strip_prefix(b"operator")?;
    if is_inside {
        return None;
    }
    let spaces = behind.iter().take_while(|&&byte| byte == b' ').count();
    let symbol = &behind[spaces..];
    let known = OPERATORS.iter().map(|known| known.as_bytes());
    let known = known
        .chain([&b">"[..]])
        .find(|known| symbol.starts_with(known));
    let length = match known {
        Some(known) => known.len(),
        // A comma followed by a name separates that name from a bare `operator`.
        None if symbol.first() == Some(&b',') => match symbol.get(1) {
            None | Some(b'(' | b',' | b'<') => 1,
            Some(_) => return None,
        },
        None => return None,
    };
    Some(name.len() - symbol.len() + length)
}

/// Returns whether this consists only of what may follow the parameters of a function.
fn is_qualifiers(mut text: &str) -> bool {
    let after = |text: &'_ str, word: &str| -> Option<usize> {
        let rest = text.strip_prefix(word)?.bytes().next();
        let goes_on = word.bytes().all(is_of_word) && rest.is_some_and(is_of_word);
        (!goes_on).then_some(word.len())
    };
    loop {
        text = text.trim_start();
        let length = QUALIFIERS.iter().find_map(|word| after(text, word));
        text = match (text.as_bytes().first(), length) {
            (None | Some(b'@'), _) => return true,
            (Some(b'['), _) => match outermost(text).groups.first() {
                Some(group) if group.start == 0 => &text[group.end..],
                _ => return false,
            },
            (_, Some(length)) => &text[length..],
            _ => return false,
        };
    }
}

/// Removes the spaces that do not separate words.
fn squeezed(name: &str) -> Cow<'_, str> {
    if !name.contains(' ') {
        return Cow::Borrowed(name);
    }
    let bytes = name.as_bytes();
    let mut kept = String::with_capacity(name.len());
    for (at, letter) in name.char_indices() {
        let before = kept.bytes().next_back();
        let behind = bytes[at..].iter().copied().find(|&byte| byte != b' ');
        let separates = before.is_some_and(is_of_word) && behind.is_some_and(is_of_word);
        if letter != ' ' || separates {
            kept.push(letter);
        }
    }
    Cow::Owned(kept)
}

/// Returns whether the byte is part of a word; all non-ASCII bytes are.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
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
        assert_eq!(module_and_name("(anonymous namespace)::run"), None);
    }

    #[test]
    fn a_comma_within_brackets_does_not_separate_names() {
        for (text, names) in [
            ("f", &["f"][..]),
            ("f,g", &["f", "g"]),
            (" f , ns::g ", &["f", "ns::g"]),
            ("Map<int, char>::get,f", &["Map<int, char>::get", "f"]),
            (
                "f(int, char),g(A<1, (2>1)>)",
                &["f(int, char)", "g(A<1, (2>1)>)"],
            ),
            (
                "A::operator<,B::operator,,operator->,c",
                &["A::operator<", "B::operator,", "operator->", "c"],
            ),
            (
                "operator()(int, int),operator<<(A, B)",
                &["operator()(int, int)", "operator<<(A, B)"],
            ),
            ("operator< <int, int>,f", &["operator< <int, int>", "f"]),
            (
                "my_operator<A, B>,operator,f",
                &["my_operator<A, B>", "operator", "f"],
            ),
            (
                "{lambda(A, B)#1}::operator()[abi:x, y],f",
                &["{lambda(A, B)#1}::operator()[abi:x, y]", "f"],
            ),
        ] {
            assert_eq!(list(text).unwrap(), names, "{text}");
        }
    }

    #[test]
    fn a_list_with_a_hole_or_half_a_bracket_is_refused() {
        for text in ["", "f,", ",f", "f,,g", " , "] {
            let problem = NoNames::Missing { text: text.into() };
            assert_eq!(list(text), Err(problem), "{text}");
        }
        for (text, bracket) in [
            ("Map<int, f", '<'),
            ("f(int, g", '('),
            ("f)", ')'),
            ("a>", '>'),
        ] {
            let text = text.to_owned();
            assert_eq!(list(&text), Err(NoNames::Unpaired { bracket, text }));
        }
    }

    #[test]
    fn parameters_are_told_from_other_parentheses() {
        for (name, without) in [
            ("f", "f"),
            ("f(int)", "f"),
            ("A::f(int, B (*)[2]) const", "A::f"),
            ("A::f() &&", "A::f"),
            ("A::f() const&noexcept", "A::f"),
            ("f(int) [clone .isra.0]", "f"),
            ("f(int)@plt", "f"),
            ("f(int) constant", "f(int) constant"),
            ("(anonymous namespace)::f", "(anonymous namespace)::f"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("foo<(e)0>::bar", "foo<(e)0>::bar"),
            ("foo<(e)0>::bar(int)", "foo<(e)0>::bar"),
            ("Parser::operator()", "Parser::operator()"),
            ("Parser::operator()(int) const", "Parser::operator()"),
            (
                "f(int)::{lambda()#1}::operator()() const",
                "f(int)::{lambda()#1}::operator()",
            ),
            ("f(int)::local", "f(int)::local"),
            ("main.(*Server).Serve", "main.(*Server).Serve"),
            (
                "std::function<void (int)>::operator()(int) const",
                "std::function<void (int)>::operator()",
            ),
            ("operator<<(A, B)", "operator<<"),
            ("(", "("),
            (")", ")"),
        ] {
            assert_eq!(without_parameters(name), without);
        }
    }

    #[test]
    fn the_last_parts_of_a_name_find_it() {
        for (demangled, name) in [
            ("(anonymous namespace)::get", "get"),
            ("Map<int, char>::get(int) const", "get"),
            ("Map<int, char>::get(int) const", "Map<int,char>::get"),
            ("f(int)::local", "local"),
            ("void ns::f<int>(int)", "ns::f<int>"),
            ("Parser::operator()(int) const", "operator()"),
            ("Parser::operator()(int) const", "Parser::operator ()"),
        ] {
            assert!(ends_in(demangled, name), "{demangled} {name}");
        }
        assert!(!ends_in("forget", "get"));
        assert!(!ends_in("non-virtual thunk to f<int>()", "f<int>"));
        assert!(is_called("A::f(int)", "A::f") && !is_called("A::f(int)", "f"));
        assert!(!is_same("unsigned int", "unsignedint"));
    }
}
