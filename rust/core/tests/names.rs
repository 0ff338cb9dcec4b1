//! Glossary: a name of a public type has one meaning in the engine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::arrows::files;

/// Names of the types that a file makes public.
fn public_types(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
        ["struct", "enum", "trait", "type"].contains(&kind).then_some(name)
    })
}

#[test]
fn a_public_type_shares_its_name_with_no_other() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files(&src) {
        let source = fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(&src).unwrap().display().to_string();
        for name in public_types(&source) {
            places.entry(name.to_owned()).or_default().push(place.clone());
        }
    }
    let count = places.len();
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "these names have several meanings: {places:#?}");
    assert!(count > 300, "only {count} public types were found");
}

#[test]
fn only_public_types_count() {
    let source =
        "pub struct One<'a> {\npub(crate) struct Two;\n    pub enum Three {\npub fn four() {}\npub trait Five: Six {";
    assert_eq!(public_types(source).collect::<Vec<_>>(), ["One", "Five"]);
}
