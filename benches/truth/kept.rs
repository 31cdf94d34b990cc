//! The real servers' rows, from the stored figures of the experiments' pages.
//!
//! Only variants that hop have meaningful predictions: without hops, the replay is the original's.
//! Rows that were not measured, or not predicted by the present model, are omitted.

use crate::patched::Outcome;
use crate::row::Row;
use crate::timed::PREDICTING;
use serde_json::Value;
use std::path::Path;

const FIGURES: &str = "research/notes/figures";
/// Prefixes of the files' names.
const PREFIXES: [&str; 2] = ["servers-", "connections-native"];
const HOPPING: [&str; 2] = ["carrier", "affinity"];

/// Returns all rows, by file.
pub fn rows() -> Outcome<Vec<Row>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FIGURES);
    let entries = std::fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path());
    let name = |path: &Path| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mut files: Vec<_> = entries.map(|path| (name(&path), path)).collect();
    files.retain(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    files.sort();
    let mut rows = Vec::new();
    for (name, path) in files {
        let kept: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let told = kept["figures"]["rows"].as_array();
        let told = told.ok_or_else(|| format!("{}: no rows", path.display()))?;
        rows.extend(told.iter().filter_map(|row| of(row, &name)));
    }
    Ok(rows)
}

fn of(row: &Value, file: &str) -> Option<Row> {
    let word = |key: &str| row[key].as_str();
    let backend = word("backend").filter(|backend| HOPPING.contains(backend))?;
    word("core_model").filter(|&model| model == PREDICTING)?;
    let (server, load) = (word("server")?, word("load")?);
    let size = row["size_of_l2"]
        .as_f64()
        .map(|size| format!(" {size} L2s"));
    let connections = row["connections"].as_u64()?;
    let connections = (connections > 1).then(|| format!(" on {connections} connections"));
    let place = [size.unwrap_or_default(), connections.unwrap_or_default()].concat();
    Some(Row {
        kind: "server",
        name: format!("{server} {load}{place}, {backend} ({file})"),
        predicted: row["predicted"].as_f64()?,
        measured: row["ratio"].as_f64()?,
    })
}
