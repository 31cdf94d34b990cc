//! Parses one line of `perf script`.
//!
//! A sample begins with a line of columns, of which the thread, the event and the address are used:
//!
//! ```text
//! [COMM] [PID/]TID [[CPU]] [MISC] [TIME:] [PERIOD] EVENT: ADDRESS [VARIABLE] [|OP LOAD|...]
//! ```
//!
//! The name of a thread may contain spaces and colons, so the columns are parsed from the event
//! backwards. A call begins with a tab: the address of the instruction, the name of the function,
//! optionally its offset, the file, and ` (inlined)`. With the field `srcline`, a separate line
//! contains two spaces and the source line; with `srccode`, a bar and the source text.
//!
//! The formats are those of perf's `builtin-script.c`, `evsel_fprintf.c` and `srcline.c`.

use corehop_traces::Kind;

/// Distance from the end of a column to the end of a period: a space and at least ten characters.
const PERIOD_PLACES: usize = 11;

/// Suffix of a function that was inlined into its caller.
const INLINED: &str = " (inlined)";

/// The kinds of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The end of a sample.
    Blank,
    /// Messages of perf itself, and lines of source code.
    Aside,
    /// The start of a sample.
    Head(Head),
    /// A call.
    Call(Call<'a>),
}

/// The first line of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The thread's number; negative if perf does not know it.
    pub thread: i64,
    /// `None` if the processor reports that the instruction is not a load or store.
    pub kind: Option<Kind>,
    /// The accessed address.
    pub address: u64,
}

/// A function on the call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call<'a> {
    /// Its name.
    pub function: &'a str,
    /// The file that contains it, if printed.
    pub module: Option<&'a str>,
}

/// Parses a line. `after_call` is whether the previous line belongs to a sample's calls.
///
/// # Errors
/// What is wrong with the line.
pub fn line(text: &str, after_call: bool) -> Result<Line<'_>, &'static str> {
    let text = text.trim_end();
    if text.is_empty() {
        return Ok(Line::Blank);
    }
    if text.starts_with('#') {
        return Ok(Line::Aside);
    }
    if let Some(call) = text.strip_prefix('\t') {
        return call_of(call).map(Line::Call);
    }
    match head(text) {
        Ok(head) => Ok(Line::Head(head)),
        Err(_) if after_call && is_source(text) => Ok(Line::Aside),
        // Copying from a terminal converts tabs to spaces.
        Err(NO_EVENT) if after_call && text.starts_with("  ") && has_symbol(text) => {
            call_of(text).map(Line::Call)
        }
        Err(problem) => Err(problem),
    }
}

const NO_EVENT: &str = "no event, which ends with a colon";
const NO_THREAD: &str = "neither a thread's number nor a call, which begins with a tab";
const NO_KIND: &str = "the event is neither of loads nor of stores";
const NO_ADDRESS: &str = "no address after the event";

/// A word, and the column after it.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    end: usize,
}

fn words(line: &str) -> Vec<Word<'_>> {
    let start = line.as_ptr() as usize;
    let word = |text: &'_ str| text.as_ptr() as usize - start + text.len();
    line.split_whitespace()
        .map(|text| Word {
            text,
            end: word(text),
        })
        .collect()
}

/// Parses the thread, the event and the address. If several words could be the event, the last one
/// is used: a thread's name may look like an event, but nothing after the event does.
fn head(line: &str) -> Result<Head, &'static str> {
    let words = words(line);
    let may_be_event = |&at: &usize| {
        let text = words[at].text;
        at > 0 && text.len() > 1 && text.ends_with(':') && !is_time(text)
    };
    let mut problem = (0, NO_EVENT);
    for at in (1..words.len()).rev().filter(may_be_event) {
        match head_at(line, &words, at) {
            Ok(head) => return Ok(head),
            Err(NO_THREAD) => problem = problem.max((1, NO_THREAD)),
            Err(NO_ADDRESS) => problem = problem.max((2, NO_ADDRESS)),
            Err(other) => problem = problem.max((3, other)),
        }
    }
    Err(problem.1)
}

/// Does the same, given the word of the event.
fn head_at(line: &str, words: &[Word<'_>], event: usize) -> Result<Head, &'static str> {
    let thread = thread(&words[..event]).ok_or(NO_THREAD)?;
    let kind = kind(words[event].text, &line[words[event].end..]).ok_or(NO_KIND)?;
    // After the address, perf prints the variable that contains it, which may include spaces.
    let address = words.get(event + 1).and_then(|word| hexadecimal(word.text));
    Ok(Head {
        thread,
        kind,
        address: address.ok_or(NO_ADDRESS)?,
    })
}

/// Finds the thread in the columns before the event.
fn thread(mut columns: &[Word<'_>]) -> Option<i64> {
    if let [others @ .., last] = columns
        && is_number(last.text)
        && is_period(others, *last)
    {
        columns = others;
    }
    if let [others @ .., last] = columns
        && is_time(last.text)
    {
        columns = others;
    }
    if let [others @ .., last] = columns
        && is_misc(last.text)
    {
        columns = others;
    }
    if let [others @ .., last] = columns
        && is_cpu(last.text)
    {
        columns = others;
    }
    thread_number(columns.last()?.text)
}

/// Returns whether the number `last` after these columns is a period. Otherwise it is a thread's
/// number, and the columns are its name.
fn is_period(columns: &[Word<'_>], last: Word<'_>) -> bool {
    let Some(before) = columns.last() else {
        return false;
    };
    if is_time(before.text) || is_cpu(before.text) {
        return true;
    }
    if is_misc(before.text) {
        return thread(columns).is_some();
    }
    // A thread's name may also end in a number, but its number has fewer digits.
    let is_aligned = last.end - before.end >= PERIOD_PLACES;
    thread_number(before.text).is_some() && (is_aligned || before.text.contains('/'))
}

/// Parses `TID` or `PID/TID`.
fn thread_number(text: &str) -> Option<i64> {
    let number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        is_number(digits).then(|| text.parse().ok()).flatten()
    };
    match text.split_once('/') {
        Some((process, thread)) => number(process).and_then(|_: i64| number(thread)),
        None => number(text),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether the text has the form `[003]`.
fn is_cpu(text: &str) -> bool {
    let number = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    number.is_some_and(is_number)
}

/// Returns whether the text has the form `12345.678901:`.
fn is_time(text: &str) -> bool {
    let parts = text.strip_suffix(':').and_then(|time| time.split_once('.'));
    parts.is_some_and(|(seconds, part)| is_number(seconds) && is_number(part))
}

/// Returns whether the text is the letter for the origin of the sample: kernel, program, hypervisor
/// or guest.
fn is_misc(text: &str) -> bool {
    matches!(text, "K" | "U" | "H" | "G" | "g")
}

/// Returns whether a sample is a load or a store. The event determines it or, on processors with
/// one event for both, the data source of the instruction. `None` if neither determines it.
fn kind(event: &str, behind: &str) -> Option<Option<Kind>> {
    let event = event.to_ascii_lowercase();
    match (event.contains("load"), event.contains("store")) {
        (true, false) => return Some(Some(Kind::Load)),
        (false, true) => return Some(Some(Kind::Store)),
        _ => {}
    }
    let (_, operation) = behind.split_once("|OP ")?;
    let operation = operation.split('|').next().unwrap_or_default();
    match (operation.contains("LOAD"), operation.contains("STORE")) {
        (true, false) => Some(Some(Kind::Load)),
        (false, true) => Some(Some(Kind::Store)),
        _ => Some(None),
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number
        .then(|| u64::from_str_radix(text, 16).ok())
        .flatten()
}

/// Returns whether a call that is indented by spaces has a name.
fn has_symbol(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().and_then(hexadecimal).is_some() && words.next().is_some()
}

/// Returns whether the line contains the source location of the previous call, or its text. For a
/// function without one, perf prints the offset from its start, and for code without a name its
/// address.
fn is_source(text: &str) -> bool {
    if let Some(code) = text.strip_prefix('|') {
        return code.starts_with(|first: char| first.is_ascii_digit());
    }
    let Some(place) = text.strip_prefix("  ") else {
        return false;
    };
    let place = place.strip_suffix(INLINED).unwrap_or(place);
    let place = match place.rsplit_once(" (discriminator ") {
        Some((before, number)) if is_number(number.trim_end_matches(')')) => before,
        _ => place,
    };
    let is_line = |mark| {
        let parts = place.rsplit_once(mark);
        parts.is_some_and(|(_, number)| is_number(number))
    };
    let address = place
        .strip_suffix(']')
        .and_then(|place| place.rsplit_once('['));
    let is_address = address.is_some_and(|(_, address)| hexadecimal(address).is_some());
    is_line(':') || is_line('+') || is_address
}

/// Parses a call, without the indentation of its line.
fn call_of(text: &str) -> Result<Call<'_>, &'static str> {
    let text = text.trim();
    let (address, symbol) = text.split_once(' ').unwrap_or((text, ""));
    match hexadecimal(address) {
        Some(_) if !address.is_empty() => Ok(symbol_of(symbol.trim())),
        _ => Err("a call begins with its address"),
    }
}

/// Returns the function without its offset, the file and the inlined suffix.
fn symbol_of(text: &str) -> Call<'_> {
    let text = text.strip_suffix(INLINED).unwrap_or(text);
    if let Some(found) = before_distance(text) {
        return found;
    }
    let Some(open) = start_of_file(text) else {
        return Call {
            function: text,
            module: None,
        };
    };
    Call {
        function: text[..open].trim_end(),
        module: Some(file(&text[open..])),
    }
}

/// Returns the text before `+0x24`, if only a file follows it.
fn before_distance(text: &str) -> Option<Call<'_>> {
    let mut places = text.match_indices("+0x");
    places.find_map(|(place, mark)| {
        let behind = &text[place + mark.len()..];
        let digits = behind.bytes().take_while(u8::is_ascii_hexdigit).count();
        let rest = &behind[digits..];
        let is_file = rest.starts_with(" (") && rest.ends_with(')');
        (digits > 0 && (rest.is_empty() || is_file)).then(|| Call {
            function: &text[..place],
            module: is_file.then(|| file(rest.trim_start())),
        })
    })
}

/// Returns the position of the last opening parenthesis, if the group ends the text and follows a
/// name. Parentheses of parameters have no space before them.
fn start_of_file(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (place, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            let is_apart = place > 1 && text.as_bytes()[place - 1] == b' ';
            return (byte == b'(' && is_apart).then_some(place);
        }
    }
    // A file's name may contain an unmatched bracket.
    let of_file = text.rfind(" (/").or_else(|| text.rfind(" (["));
    of_file.filter(|&place| place > 0).map(|place| place + 1)
}

/// Returns the file between parentheses, without the offset that the field `dsoff` adds.
fn file(text: &str) -> &str {
    let file = text.strip_prefix('(').unwrap_or(text);
    let file = file.strip_suffix(')').unwrap_or(file);
    match file.rsplit_once("+0x") {
        Some((before, offset)) if hexadecimal(offset).is_some() => before,
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread_of(text: &str) -> Result<(i64, Option<Kind>, u64), &'static str> {
        match line(text, true)? {
            Line::Head(head) => Ok((head.thread, head.kind, head.address)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_before_the_event_are_told_apart() {
        for columns in [
            "1240",
            " 1240",
            "99/1240",
            "mysqld 1240",
            "   tokio: worker 3    1240",
            " 7    1240",
            "cc1: 99/1240",
            "kworker/0:1-eve 1240",
            ":1240 1240",
            "mysqld 1240 [003]",
            "mysqld 1240 [003] 12.000001:",
            "mysqld  99/1240  [003] U  12.000001:         50",
            "mysqld 1240 U     12.000001:         50",
            "mysqld 1240          50",
            "mysqld 99/1240 50",
            "1 load: 2 1240",
        ] {
            let text = format!("{columns} cpu/mem-stores/P:     7f00 v: t");
            assert_eq!(
                thread_of(&text),
                Ok((1240, Some(Kind::Store), 0x7f00)),
                "{text}"
            );
        }
    }

    #[test]
    fn an_event_or_the_processor_tells_loads_from_stores() {
        for (event, behind, kind) in [
            ("cpu/mem-loads,ldlat=30/P", "", Some(Kind::Load)),
            (
                "{cpu/mem-loads-aux/,cpu/mem-loads,ldlat=30/}:S",
                "",
                Some(Kind::Load),
            ),
            ("mem_inst_retired.all_loads:ppu", "", Some(Kind::Load)),
            ("cpu_atom/mem-stores/P", "", Some(Kind::Store)),
            (
                "ibs_op//",
                " [unknown] 1e0 |OP LOAD|LVL L1 hit|",
                Some(Kind::Load),
            ),
            (
                "cpu/mem-ldst/",
                " 1e0 |OP STORE|LVL N/A|",
                Some(Kind::Store),
            ),
            ("ibs_op//", " 1e0 |OP N/A|LVL N/A|", None),
        ] {
            let text = format!("1 {event}: 40{behind}");
            assert_eq!(thread_of(&text), Ok((1, kind, 0x40)), "{text}");
        }
        assert_eq!(thread_of("1 ibs_op//: 40"), Err(NO_KIND));
    }

    #[test]
    fn a_call_is_its_function_and_its_file() {
        for (text, function, module) in [
            ("f", "f", None),
            ("f+0x24", "f", None),
            ("f (inlined)", "f", None),
            ("f+0x24 (inlined)", "f", None),
            ("f+0x24 (/bin/x)", "f", Some("/bin/x")),
            ("f (/bin/x)", "f", Some("/bin/x")),
            ("f (/bin/x (deleted))", "f", Some("/bin/x (deleted)")),
            ("f+0x1 (/a (b/x)", "f", Some("/a (b/x")),
            ("f (/a) b/x)", "f", Some("/a) b/x")),
            ("f (x.ko)", "f", Some("x.ko")),
            ("f+0x24 ([nf] tid 12)", "f", Some("[nf] tid 12")),
            ("f+0x24 (/lib/x.so+0x1024)", "f", Some("/lib/x.so")),
            ("[unknown]", "[unknown]", None),
            ("[unknown] ([unknown])", "[unknown]", Some("[unknown]")),
            ("(anonymous namespace)::f", "(anonymous namespace)::f", None),
            (
                "(anonymous namespace)::f (inlined)",
                "(anonymous namespace)::f",
                None,
            ),
            ("P::operator()", "P::operator()", None),
            (
                "P::operator()(int) const (/bin/x)",
                "P::operator()(int) const",
                Some("/bin/x"),
            ),
            (
                "std::function<void (int)>",
                "std::function<void (int)>",
                None,
            ),
            ("a+0x1b::c", "a+0x1b::c", None),
            ("", "", None),
        ] {
            let line_text = format!("\t    555555a01234 {text}\r\n");
            let call = Call { function, module };
            assert_eq!(line(&line_text, true), Ok(Line::Call(call)), "{text}");
        }
    }

    #[test]
    fn lines_of_source_stand_aside_behind_calls_only() {
        for text in [
            "  parse.c:12",
            "  /home/my files/a.c:12 (inlined)",
            "  a.c:12 (discriminator 3)",
            "  f+36",
            "  libc.so.6[28000]",
            "|12       int f(void);",
        ] {
            assert_eq!(line(text, true), Ok(Line::Aside), "{text}");
            assert_eq!(line(text, false), Err(NO_EVENT), "{text}");
        }
        assert_eq!(line("  parse.c", true), Err(NO_EVENT));
        assert_eq!(line("# captured on: today", false), Ok(Line::Aside));
        assert_eq!(line(" \r\n", true), Ok(Line::Blank));
    }

    #[test]
    fn spaces_for_a_tab_are_read_behind_calls() {
        let call = Call {
            function: "f",
            module: None,
        };
        assert_eq!(line("            55 f+0x1", true), Ok(Line::Call(call)));
        assert_eq!(line("            55 f+0x1", false), Err(NO_EVENT));
    }
}
