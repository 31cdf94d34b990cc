//! Checks that each published crate packs completely: with the files that its code includes, the
//! metadata that a registry requires, and versioned dependencies. `make package` builds the packed
//! crates.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Returns the output of Cargo, offline.
fn cargo(words: &[&str]) -> String {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.args(words).arg("--offline").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the workspace members that are published.
fn published() -> Vec<Value> {
    let told = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let mut told: Value = serde_json::from_str(&told).unwrap();
    let Value::Array(mut packages) = told["packages"].take() else {
        panic!("no list of packages");
    };
    packages.retain(|package| package["publish"].is_null());
    assert!(packages.len() > 10);
    packages
}

/// Returns the files of a package, as paths within it.
fn packed(name: &str) -> BTreeSet<PathBuf> {
    let listed = cargo(&["package", "--list", "--allow-dirty", "--package", name]);
    listed.lines().map(PathBuf::from).collect()
}

/// Resolves a path relative to a file of the package; `None` if it leads outside.
fn within(file: &Path, path: &str) -> Option<PathBuf> {
    let mut found = file.parent()?.to_path_buf();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => {
                if !found.pop() {
                    return None;
                }
            }
            other => found.push(other),
        }
    }
    Some(found)
}

#[test]
fn what_code_includes_is_packed_with_it() {
    let included = Regex::new(r#"include_(?:str|bytes)!\(\s*(?:concat!\(\s*)?"([^"]+)""#).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for package in published() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let name = package["name"].as_str().unwrap();
        let files = packed(name);
        let code = files
            .iter()
            .filter(|file| file.extension().is_some_and(|e| e == "rs"));
        for file in code {
            let text = std::fs::read_to_string(manifest.with_file_name(file)).unwrap();
            for found in included.captures_iter(&text) {
                count += 1;
                let path = within(file, &found[1]);
                let is_packed = |path: &PathBuf| files.iter().any(|file| file.starts_with(path));
                if !path.as_ref().is_some_and(is_packed) {
                    wrong.push(format!("{name}: {} includes {}", file.display(), &found[1]));
                }
            }
        }
    }
    assert!(count > 10, "{count} files are included");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_package_has_what_a_registry_asks_for() {
    let mut wrong = Vec::new();
    for package in published() {
        let name = package["name"].as_str().unwrap();
        for key in ["description", "license", "readme", "rust_version"] {
            if package[key].as_str().is_none_or(str::is_empty) {
                wrong.push(format!("{name} has no {key}"));
            }
        }
        for key in ["keywords", "categories"] {
            let words = package[key].as_array().map_or(0, Vec::len);
            if !(1..=5).contains(&words) {
                wrong.push(format!("{name} has {words} {key}"));
            }
        }
        let licence = match name {
            "corehop-qemu-plugin" => "GPL-2.0-or-later",
            _ => "MIT OR Apache-2.0",
        };
        if package["license"] != licence {
            wrong.push(format!("{name} is under {}", package["license"]));
        }
        let version = format!("^{}", package["version"].as_str().unwrap());
        for dependency in package["dependencies"].as_array().unwrap() {
            // Packages omit dependencies by path that only tests use.
            let is_left_out = dependency["kind"] == "dev" && dependency["req"] == "*";
            let is_ours = dependency["path"].is_string();
            if is_ours && !is_left_out && dependency["req"] != *version {
                wrong.push(format!(
                    "{name} takes any version of {}",
                    dependency["name"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Experiments depend on the product, but the product does not depend on experiments.
#[test]
fn no_crate_that_is_published_depends_on_an_experiment() {
    let packages = published();
    let folder = |package: &Value| package["manifest_path"].as_str().unwrap().to_owned();
    let is_experiment = |path: &str| path.contains("/research/");
    assert!(
        !packages
            .iter()
            .any(|package| is_experiment(&folder(package)))
    );
    for package in &packages {
        for dependency in package["dependencies"].as_array().unwrap() {
            let path = dependency["path"].as_str().unwrap_or("");
            assert!(
                !path.contains("/research/"),
                "{} needs {path}",
                package["name"]
            );
        }
    }
}

#[test]
fn the_source_of_the_plugin_is_a_workspace_that_cargo_resolves_without_the_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/deb/plugin-source.sh");
    let written = Command::new(script).arg(&source).output().unwrap();
    let printed = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{printed}");
    let manifest = source.join("Cargo.toml");
    let options = ["metadata", "--format-version", "1", "--locked"];
    let resolved = cargo(
        &[
            &options[..],
            &["--manifest-path", manifest.to_str().unwrap()],
        ]
        .concat(),
    );
    let resolved: Value = serde_json::from_str(&resolved).unwrap();
    let is_ours = |package: &&Value| package["source"].is_null();
    let paths = resolved["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_ours);
    let paths: Vec<_> = paths
        .filter_map(|package| package["manifest_path"].as_str())
        .collect();
    let of_the_plugin = source.join("qemu-plugin/Cargo.toml");
    assert!(
        paths.iter().any(|path| Path::new(path) == of_the_plugin),
        "{paths:?}"
    );
    assert!(
        paths
            .iter()
            .all(|path| Path::new(path).starts_with(&source)),
        "{paths:?}"
    );
    assert!(source.join("qemu-plugin/src/lib.rs").is_file());
}
