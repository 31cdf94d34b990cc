//! Writes a plan in the form that a person would write: with an explanatory comment, and with
//! hexadecimal offsets.

use crate::destination::Destination;
use crate::inert::inert_toml;
use crate::plan::Plan;
use crate::read::check;
use corehop_support::atomic_file::{Output, PUBLIC};
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table, Value};

/// Returns the plan as TOML text. Reading it gives an equal plan.
///
/// # Panics
/// If the plan violates a rule that [`crate::parse`] checks: this is an error of the caller.
pub fn render(plan: &Plan) -> String {
    if let Err((problem, _)) = check(plan) {
        panic!("a plan that breaks its own rules: {problem}");
    }
    let mut document: DocumentMut =
        toml_edit::ser::to_document(plan).expect("a plan has only TOML types");
    let tables = document.as_table_mut();
    if let Some(functions) = tables.get_mut("function") {
        if let Some(array) = functions.as_value().and_then(Value::as_array).cloned() {
            *functions = Item::ArrayOfTables(array.iter().filter_map(as_table).collect());
        }
        for table in functions
            .as_array_of_tables_mut()
            .into_iter()
            .flat_map(|a| a.iter_mut())
        {
            make_inert(table);
            make_hexadecimal(table);
        }
    }
    if let Some(request) = tables.get_mut("request") {
        make_tables(request);
        if let Some(table) = request.as_table_mut() {
            make_inert(table);
            make_hexadecimal(table);
        }
    }
    if let Some(expected) = tables.get_mut("expected") {
        make_tables(expected);
    }
    make_inert(document.as_table_mut());
    let has = |is_it: fn(&Destination) -> bool| plan.functions.iter().any(|f| is_it(&f.to));
    let mut more = String::new();
    if plan.carriers_refuse.is_some() {
        more += REFUSED;
    }
    if has(|to| matches!(to, Destination::By(_))) {
        more += BY_ARGUMENT;
    }
    if has(|to| matches!(to, Destination::At(_))) {
        more += AT_A_CALL;
    }
    format!("{PREAMBLE}{more}{document}")
}

const PREAMBLE: &str = "\
# A corehop plan: entering a function listed here moves the thread to that function's core, where
# it stays until another listed function moves it; with mode \"call\" it goes back when the call
# returns. Entries of the function under [request], if there is one, are counted as requests; it
# moves nobody by that. Cores are numbered from 0. Edit cores and modes or remove functions freely;
# `corehop replay --plan` then says what the change does.

";

const REFUSED: &str = "\
# The recording shows that carriers refuse the program, for the reason under `carriers_refuse`. So
# the backend `auto` never begins with this plan. Remove the line if it is wrong.

";

const BY_ARGUMENT: &str = "\
# A function that has `by` instead of `core` moves the thread to the core of the object that this
# argument points to. Objects get their cores while the program runs, each when it is first named,
# or, with `after`, when so many calls have named it.

";

const AT_A_CALL: &str = "\
# A function that has `call` moves the thread at that call of it in a request alone, counted from 1
# when the request begins. Of one function several calls may be listed, each in a separate entry.

";

fn make_hexadecimal(table: &mut Table) {
    let Some(offset) = table.get("offset").and_then(Item::as_integer) else {
        return;
    };
    let hexadecimal: Value = format!("{offset:#x}").parse().expect("a TOML integer");
    table.insert("offset", toml_edit::value(hexadecimal));
}

/// Escapes names that would affect the display of the file.
fn make_inert(table: &mut Table) {
    for (_, item) in table.iter_mut() {
        let Some(text) = item.as_str().and_then(inert_toml) else {
            continue;
        };
        *item = toml_edit::value(text.parse::<Value>().expect("a TOML string"));
    }
}

fn as_table(value: &Value) -> Option<Table> {
    value.as_inline_table().cloned().map(|t| t.into_table())
}

/// Converts inline tables, recursively, to `[headed]` ones.
fn make_tables(item: &mut Item) {
    if let Some(inline) = item.as_inline_table().cloned() {
        *item = Item::Table(inline.into_table());
    }
    if let Some(table) = item.as_table_mut() {
        for (_, child) in table.iter_mut() {
            make_tables(child);
        }
    }
}

/// Writes the plan to `path`, replacing an existing file.
///
/// # Errors
/// Fails if the file cannot be written; an existing file then stays unchanged.
pub fn write(plan: &Plan, path: &Path) -> Result<(), corehop_support::atomic_file::Error> {
    Output::at(path, true)?.write(render(plan).as_bytes(), PUBLIC)
}
