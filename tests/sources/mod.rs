//! The files of the repository.

use std::path::{Path, PathBuf};

const GENERATED: &str = "trace_capnp.rs";

/// Returns every source file of the repository with these suffixes, except built and installed
/// files.
pub fn sources(suffixes: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)
            .expect("a readable checkout")
            .flatten()
        {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_dir() {
                let built = ["target", "scratch", "build", "corehop-optimize"].contains(&&*name);
                if !built && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if suffixes.iter().any(|s| name.ends_with(s)) && name != GENERATED {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}
