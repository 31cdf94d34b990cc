//! Searches a split of a trace for a machine with another L2.

use crate::Outcome;
use crate::mariadb::installed;
use std::path::Path;
use std::process::Command;

/// The machine whose L2 is replaced: it has the most cores of recent ones with one L3.
const MACHINE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/configs/machines/xeon-8480.toml"
);

/// Writes the description of a machine with an L2 of this size. Returns its path.
pub fn with_l2(size_bytes: u64, folder: &Path) -> Outcome<String> {
    let mut machine: toml::Table = std::fs::read_to_string(MACHINE)?.parse()?;
    let name = format!("l2-{}-kib", size_bytes / 1024);
    let path = folder.join(format!("{name}.toml"));
    machine.insert("name".into(), name.into());
    let l2 = machine.get_mut("l2").and_then(|l2| l2.as_table_mut());
    let size = i64::try_from(size_bytes)?;
    l2.ok_or("the machine has no L2")?
        .insert("size_bytes".into(), size.into());
    std::fs::write(&path, toml::to_string(&machine)?)?;
    Ok(path.display().to_string())
}

/// Searches the best split over this many cores, with or without a gain, and writes it to `plan`.
/// The inner error explains why there is none.
pub fn split(
    trace: &Path,
    cores: usize,
    machine: &str,
    plan: &Path,
) -> Outcome<Result<(), String>> {
    let mut partition = Command::new(installed::corehop());
    partition.args([
        "partition",
        "-q",
        "--cores",
        &cores.to_string(),
        "--machine",
        machine,
    ]);
    partition.args(["--objective", "l2", "--ignore-verdict", "--resamples", "1"]);
    partition.args(["--returns", "never", "--time-limit", "30", "-o"]);
    let output = partition.arg(plan).arg(trace).output()?;
    match plan.exists() {
        true => Ok(Ok(())),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Ok(Err(format!("no split over {cores} cores: {}", said.trim())))
        }
    }
}
