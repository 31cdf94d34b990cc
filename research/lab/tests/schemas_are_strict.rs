//! `corehop-lab schema`: its schemas are valid, allow no other keys, and every key is listed.

use crate::schemas;

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
fn every_key_is_listed_with_its_meaning() {
    let missing = schemas::keys_not_listed(crate::LAB, &schemas::of_program(crate::LAB));
    assert!(missing.is_empty(), "{missing:#?}");
}
