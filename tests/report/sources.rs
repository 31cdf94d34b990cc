//! The source positions of functions: reported if the recorded build is available with line tables.

use super::recorded::{folder_of_module, said};
use crate::conforming::read;
use serde_json::json;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "int parse(void) {\n  return 1;\n}\n\nint commit(void) {\n  return 2;\n}\n";

/// Builds `shop.so` in this folder, and returns the offsets of `parse` and `commit`.
fn library(folder: &Path) -> [u64; 2] {
    std::fs::write(folder.join("shop.c"), SOURCE).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-shared", "-Wl,--build-id=0x0a1b2c3d", "shop.c"]);
    let output = gcc.args(["-o", "shop.so"]).current_dir(folder).output();
    assert!(output.unwrap().status.success());
    let functions = corehop_symbolizer::of(&folder.join("shop.so")).unwrap();
    let offset = |name| functions.iter().find(|of| of.name == name).unwrap().offset;
    [offset("parse"), offset("commit")]
}

#[test]
fn functions_have_the_lines_that_they_are_written_at() {
    let built = tempfile::tempdir().unwrap();
    let offsets = library(built.path());
    let module = built.path().join("shop.so");
    let source = built.path().join("shop.c");
    let [parse, commit] = [1, 5].map(|line| format!("{}:{line}", source.display()));

    let folder = folder_of_module(&module, "0a1b2c3d", offsets);
    let object = read(&["report"], said(&folder, &["--json", "--csv", "csv"]));
    assert_eq!(
        object["sources"],
        json!({ "parse": parse, "commit": commit })
    );
    let functions = folder.path().join("csv/misses-by-function.csv");
    let functions = std::fs::read_to_string(functions).unwrap();
    let parent = built.path().file_name().unwrap().to_str().unwrap();
    let ends = |line: u32| format!(",{parent}/shop.c:{line}\r\n");
    assert!(functions.starts_with("function,one core,split,change,by stores,source\r\n"));
    assert!(
        functions.contains(&ends(1)) && functions.contains(&ends(5)),
        "{functions}"
    );

    // For another build, nothing is reported, and no empty column is shown.
    let folder = folder_of_module(&module, "ffffffff", offsets);
    let object = read(&["report"], said(&folder, &["--json", "--csv", "csv"]));
    assert_eq!(object["sources"], json!({}));
    let functions = folder.path().join("csv/misses-by-function.csv");
    let functions = std::fs::read_to_string(functions).unwrap();
    assert!(functions.starts_with("function,one core,split,change,by stores\r\n"));
}
