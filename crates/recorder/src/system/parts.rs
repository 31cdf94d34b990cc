//! The parts of a guest besides the server's files: a kernel and a shell.
//!
//! `scripts/guest.sh` downloads both as Debian packages and unpacks them into the user's cache, so
//! nothing is installed and no boot loader is changed. Installed ones also work.

use super::error::Error;
use crate::tools::cache;
use std::path::{Path, PathBuf};

/// Paths of the parts.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The kernel.
    pub kernel: PathBuf,
    /// A static busybox.
    pub busybox: PathBuf,
}

const REMEDY: &str = "`make guest` in a checkout fetches a kernel for virtual machines and \
                      busybox-static, `sh /usr/share/corehop/scripts/guest.sh` with the Debian \
                      package; or name files in COREHOP_GUEST_KERNEL and COREHOP_GUEST_BUSYBOX";

/// Finds both: from the environment, from the download, or as installed.
pub fn find() -> Result<Parts, Error> {
    let missing = |part| Error::Missing {
        part,
        remedy: REMEDY,
    };
    let fetched = cache().join("guest");
    let kernel = named("COREHOP_GUEST_KERNEL")?
        .or_else(|| newest_kernel(&fetched.join("boot")))
        .or_else(|| newest_kernel(Path::new("/boot")));
    let places = [fetched.join("bin/busybox"), "/bin/busybox".into()];
    let busybox = named("COREHOP_GUEST_BUSYBOX")?
        .or_else(|| places.into_iter().find(|place| is_static(place)));
    Ok(Parts {
        kernel: kernel.ok_or_else(|| missing("kernel"))?,
        busybox: busybox.ok_or_else(|| missing("static busybox"))?,
    })
}

/// Returns the path in a variable; if it does not exist, this fails without a fallback.
fn named(variable: &'static str) -> Result<Option<PathBuf>, Error> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else {
        return Ok(None);
    };
    match path.is_file() {
        true => Ok(Some(path)),
        false => Err(Error::Named { variable, path }),
    }
}

/// Ends of the names of kernels that contain all that a guest needs in one file: Debian's for
/// virtual machines, and Ubuntu's. Ubuntu's `-kvm` does not name its variables.
const FLAVORS: [&str; 2] = ["-cloud-amd64", "-generic"];

/// Returns the newest kernel, by the numbers in its name.
fn newest_kernel(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let kernels = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("vmlinuz-") && FLAVORS.iter().any(|flavor| name.ends_with(flavor))
    });
    kernels.max_by_key(|path| numbers(path))
}

fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.split(|letter: char| !letter.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

fn is_static(path: &Path) -> bool {
    let binary = crate::binaries::binary::Binary::read(path);
    binary.is_ok_and(|binary| binary.loader.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "vmlinuz-6.1.0-9-cloud-amd64",
            "vmlinuz-6.1.0-56-cloud-amd64",
            "vmlinuz-6.12.0-1-amd64",
            "config-6.1.0-99-cloud-amd64",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = newest_kernel(folder.path()).unwrap();
        assert!(found.ends_with("vmlinuz-6.1.0-56-cloud-amd64"));
        std::fs::write(folder.path().join("vmlinuz-6.8.0-31-generic"), "").unwrap();
        let found = newest_kernel(folder.path()).unwrap();
        assert!(found.ends_with("vmlinuz-6.8.0-31-generic"));
        assert_eq!(newest_kernel(&folder.path().join("none")), None);
    }
}
