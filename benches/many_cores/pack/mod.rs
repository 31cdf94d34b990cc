//! Packs the folder: programs, files of servers, libraries, plans, and the script that runs it.
//!
//! The folder is complete or not there: it is made under another name and renamed. Large files are
//! compressed. glibc is not
//! packed: a server runs with that of the machine it is on, as its loader is at a fixed path. The
//! newest version of glibc that a packed file needs is noted for the script, which refuses older
//! machines. Rejected: to start the packed loader with the server as its argument. The program of
//! the process would then be the loader, in which the runtime finds no hooks.

mod libraries;
mod plans;
mod searched;

pub use plans::{CORES, mariadb_plan};

use crate::compressed::{OWN, compress, list};
use crate::mariadb::installed::{self, BIN, ROOT};
use crate::{Outcome, tpcc};
use std::cmp::Reverse;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Size of a packed folder at most.
pub const SIZE_LIMIT_BYTES: u64 = 64 << 20;
const SCRIPT: &str = include_str!("../run.sh");
/// Folders in a packed one.
const LIBRARIES: &str = "lib";
const PLANS: &str = "plans";

/// What to pack.
pub struct Extent {
    /// Files, by their paths here. Those that are missing are left out, and reported.
    files: &'static [&'static str],
    /// How well large files are compressed.
    level: i32,
    is_whole: bool,
}

impl Extent {
    pub const WHOLE: Extent = Extent {
        files: &[
            "/usr/bin/redis-server",
            "/usr/sbin/dnsmasq",
            "/usr/bin/memcached",
            "/usr/sbin/nginx",
            "/usr/sbin/mariadbd",
            "/usr/share/mysql/mysql_system_tables.sql",
            "/usr/share/mysql/mysql_system_tables_data.sql",
            "/usr/share/mysql/english/errmsg.sys",
        ],
        level: 19,
        is_whole: true,
    };

    /// redis alone.
    pub const BRIEF: Extent = Extent {
        files: &["/usr/bin/redis-server"],
        level: 1,
        is_whole: false,
    };
}

/// Packs into a folder of this name; replaces one that was packed before.
pub fn pack(folder: &Path, extent: &Extent) -> Outcome<()> {
    let part = folder.with_extension("part");
    remove(&part)?;
    std::fs::create_dir_all(part.join(BIN))?;
    std::fs::create_dir_all(part.join(PLANS))?;
    let mut programs = programs(&part, extent)?;
    for file in extent.files {
        let source = Path::new(file);
        if !source.exists() {
            eprintln!("not packed: {file} is not installed");
            continue;
        }
        let target = part.join(ROOT).join(file.trim_start_matches('/'));
        copy(source, &target)?;
        programs.push(target);
    }
    let libraries = libraries::pack(&programs, &part.join(LIBRARIES))?;
    let packed = [programs, libraries].concat();
    let glibc = libraries::needed_glibc(&packed)?;
    std::fs::write(part.join("glibc"), format!("{glibc}\n"))?;
    std::fs::write(part.join("run"), SCRIPT)?;
    std::fs::set_permissions(part.join("run"), Permissions::from_mode(0o755))?;
    plans::pack(&part, extent)?;
    compress(&part, extent.level)?;
    // Programs of a build for tests are larger.
    let limit = if extent.is_whole {
        SIZE_LIMIT_BYTES
    } else {
        u64::MAX
    };
    let size = check_size(&part, limit)?;
    remove(folder)?;
    std::fs::rename(&part, folder)?;
    let mebibytes = size as f64 / f64::from(1 << 20);
    println!(
        "{}: {mebibytes:.1} MiB, for glibc {glibc} and newer",
        folder.display()
    );
    println!("copy it to the machine to measure, and start its script `run` there");
    Ok(())
}

/// Returns where the plan of this name is in a packed folder, and the reason if there is none.
pub fn plan_files(folder: &Path, name: &str) -> [PathBuf; 2] {
    ["toml", "reason"].map(|end| folder.join(PLANS).join(format!("{name}.{end}")))
}

/// Copies this program, corehop, and the load of mariadbd.
fn programs(part: &Path, extent: &Extent) -> Outcome<Vec<PathBuf>> {
    let own = std::env::current_exe()?;
    let mut programs = vec![(own, OWN), (installed::corehop(), "corehop")];
    if extent.is_whole {
        programs.push((tpcc::load(), "corehop-tpcc"));
    }
    let copied = programs.into_iter().map(|(source, name)| {
        let target = part.join(BIN).join(name);
        copy(&source, &target)?;
        Ok(target)
    });
    copied.collect()
}

/// Copies what a path leads to, with its mode, and creates the folder.
fn copy(source: &Path, target: &Path) -> Outcome<()> {
    std::fs::create_dir_all(target.parent().ok_or("no folder")?)?;
    let copied = std::fs::copy(source, target);
    let failed = |error| format!("{} cannot be packed: {error}", source.display());
    copied.map_err(failed)?;
    Ok(())
}

fn remove(folder: &Path) -> Outcome<()> {
    match folder.exists() {
        true => Ok(std::fs::remove_dir_all(folder)?),
        false => Ok(()),
    }
}

/// Returns the size of all files. Fails if it exceeds the limit.
pub fn check_size(folder: &Path, limit: u64) -> Outcome<u64> {
    let mut paths = Vec::new();
    list(folder, &mut paths)?;
    let sized = |path: PathBuf| Ok::<_, std::io::Error>((path.metadata()?.len(), path));
    let mut files: Vec<_> = paths.into_iter().map(sized).collect::<Result<_, _>>()?;
    let size: u64 = files.iter().map(|(size, _)| size).sum();
    if size <= limit {
        return Ok(size);
    }
    files.sort_by_key(|(size, _)| Reverse(*size));
    let largest = files.iter().take(3);
    let largest = largest.map(|(size, path)| format!("{} {size}", path.display()));
    let largest = largest.collect::<Vec<_>>().join(", ");
    Err(format!("{size} bytes, above the limit of {limit}; the largest: {largest}").into())
}
