//! Checks that the committed Rust code for the schema is current. It is committed so that building
//! corehop needs no `capnp` program. To update it: `UPDATE_SCHEMA=1 cargo test -p corehop-traces
//! the_generated_schema`.

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
    assert!(
        fresh == committed,
        "src/format/trace_capnp.rs is not what schema/trace.capnp generates; \
         run this test with UPDATE_SCHEMA=1"
    );
}
