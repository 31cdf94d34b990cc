//! Checks that the committed Rust code for the schema is current. It is committed so that building
//! corehop needs no `capnp` program. To update it: `UPDATE_SCHEMA=1 cargo test -p corehop-traces
//! the_generated_schema`.
//!
//! Another version of `capnp` encodes the schema for reflection in another way: 1.1 of Debian 13
//! adds the place of each struct in the file. All other generated code must then be the same.

use std::path::Path;

#[test]
fn the_generated_schema_is_current() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = tempfile::tempdir().unwrap();
    capnpc::CompilerCommand::new()
        .file(crate_folder.join("schema/trace.capnp"))
        .src_prefix(crate_folder.join("schema"))
        .output_path(output.path())
        .run()
        .unwrap_or_else(|error| {
            panic!("cannot run `capnp`; it is in the Debian package capnproto: {error}")
        });
    let fresh = std::fs::read_to_string(output.path().join("trace_capnp.rs")).unwrap();
    let committed_path = crate_folder.join("src/format/trace_capnp.rs");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&committed_path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&committed_path).unwrap();
    let is_current = match version(&fresh) == version(&committed) {
        true => fresh == committed,
        false => unencoded(&fresh).eq(unencoded(&committed)),
    };
    assert!(
        is_current,
        "src/format/trace_capnp.rs is not what schema/trace.capnp generates; \
         run this test with UPDATE_SCHEMA=1"
    );
}

/// Returns the line with the version of `capnp`.
fn version(code: &str) -> Option<&str> {
    code.lines().find(|line| is_version(line))
}

fn is_version(line: &str) -> bool {
    line.starts_with("// capnp binary version:")
}

/// Returns the lines that do not depend on that version.
fn unencoded(code: &str) -> impl Iterator<Item = &str> {
    let mut is_encoded = false;
    code.lines().filter(move |line| {
        is_encoded |= line.contains("static ENCODED_NODE: ");
        let is_kept = !is_encoded && !is_version(line);
        is_encoded &= line.trim() != "];";
        is_kept
    })
}

#[test]
fn only_the_encoding_may_differ() {
    let code = "// capnp binary version: 0.9.2\n\
                static ENCODED_NODE: [Word; 1] = [\n\
                word(5),\n\
                ];\n\
                fn get() {}\n";
    let other = code.replace("0.9.2", "1.1.0").replace("word(5)", "word(6)");
    assert_ne!(version(code), version(&other));
    assert!(unencoded(code).eq(unencoded(&other)));
    assert!(!unencoded(code).eq(unencoded(&other.replace("get", "set"))));
}
