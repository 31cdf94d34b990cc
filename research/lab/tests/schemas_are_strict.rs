//! `corehop-lab schema`: its schemas are valid, take no other keys, and the pages tell of each key.

use crate::schemas;
use std::path::Path;

#[test]
fn every_schema_is_valid_and_closed_and_describes_its_keys() {
    let all = schemas::of_program(crate::LAB);
    assert_eq!(all.len(), 4, "{all:?}");
    let mut wrong = Vec::new();
    for (name, schema) in &all {
        let valid = jsonschema::draft202012::meta::validate(schema);
        assert!(valid.is_ok(), "{name}: {}", valid.unwrap_err());
        schemas::walk(schema, name, &mut |part, place| {
            wrong.extend(schemas::faults(part, place));
        });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_pages_tell_of_every_key() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["research", "docs/reference"].map(|folder| root.join(folder));
    let missing = schemas::keys_without_a_page(&schemas::of_program(crate::LAB), &folders);
    assert!(missing.is_empty(), "the pages do not tell of {missing:?}");
}
