//! Writes a plan the way a person would: a comment that says what it is, offsets in hexadecimal.

use crate::{Error, Plan, read::check};
use std::io::Write;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Value};

/// The plan as TOML text. Reading it back gives an equal plan.
///
/// # Panics
/// When the plan breaks a rule that [`crate::parse`] checks: that is a mistake of the caller.
pub fn render(plan: &Plan) -> String {
    if let Err(problem) = check(plan) {
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
            let Some(offset) = table.get("offset").and_then(Item::as_integer) else {
                continue;
            };
            let hexadecimal: Value = format!("{offset:#x}").parse().expect("a TOML integer");
            table.insert("offset", toml_edit::value(hexadecimal));
        }
    }
    if let Some(expected) = tables.get_mut("expected") {
        make_tables(expected);
    }
    format!("{PREAMBLE}{document}")
}

const PREAMBLE: &str = "\
# A corehop plan: entering a function listed here moves the thread to that function's core, where
# it stays until another listed function moves it; with mode \"call\" it goes back when the call
# returns. Cores are numbered from 0. Edit cores and modes or remove functions freely;
# `corehop replay --plan` then says what the change does.

";

fn as_table(value: &Value) -> Option<toml_edit::Table> {
    value.as_inline_table().cloned().map(|t| t.into_table())
}

/// Turns inline tables, and the inline tables in them, into `[headed]` ones.
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

/// Writes the plan to `path`: beside it first, then renamed into place.
///
/// # Errors
/// [`Error::Write`] when the file cannot be written; `path` is then as it was.
pub fn write(plan: &Plan, path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.into(),
        source,
    };
    write_text(&render(plan), path).map_err(failed)
}

/// Writes any text to `path` in the same way: whole or not at all, and for everybody to read.
///
/// # Errors
/// What the system says; `path` is then as it was.
pub fn write_text(text: &str, path: &Path) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    file.write_all(text.as_bytes())?;
    let public = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(public)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The folder that `path` lies in, where a file that is to be renamed to it must be written.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
