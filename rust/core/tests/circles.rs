//! Modules import each other in no circle: of two modules only one knows the other. A module's own file may name its
//! parts, which know it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::arrows::files;

/// Names in a module from elsewhere in the crate, as paths from its root.
#[derive(Default)]
struct Names {
    used: Vec<String>,
    /// Paths of those that can be taken from this module, too, by their names in it.
    passed_on: BTreeMap<String, String>,
}

/// Modules by their paths, such as `policy::desk`; but for those of tests.
fn modules(source: &Path) -> BTreeMap<String, Names> {
    let named = |file: &Path| {
        let relative = file.strip_prefix(source).unwrap().with_extension("");
        let names: Vec<_> = relative.iter().map(|part| part.to_str().unwrap()).filter(|part| *part != "mod").collect();
        names.join("::")
    };
    let own = files(source).into_iter().filter(|file| !file.ends_with("tests.rs"));
    own.map(|file| (named(&file), names(&named(&file), &fs::read_to_string(&file).unwrap()))).collect()
}

/// Names that a module's text has, outside its tests and comments, in `use` lines or elsewhere.
fn names(module: &str, text: &str) -> Names {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines: Vec<_> = code.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let (code, mut names) = (lines.join(" "), Names::default());
    for start in ["crate::", "super::", "self::"].into_iter().flat_map(|root| code.match_indices(root)).map(|at| at.0) {
        let (before, path) = code.split_at(start);
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
        if is_inside || before.ends_with("(in ") {
            continue;
        }
        let line = before.rsplit([';', '{', '}']).next().unwrap_or_default();
        let is_passed_on = line.ends_with("use ") && line.contains("pub");
        for path in written_out(tree(path)) {
            let (path, name) = path.split_once(" as ").unwrap_or((&path, path.rsplit("::").next().unwrap_or_default()));
            let path = from_root(module, path);
            if is_passed_on {
                names.passed_on.insert(name.to_owned(), path.clone());
            }
            names.used.push(path);
        }
    }
    names
}

/// A path at the beginning of a text, with the `{}` at its end.
fn tree(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).unwrap_or(text.len());
    if !text[end..].starts_with('{') || !text[..end].ends_with("::") {
        return &text[..end];
    }
    let mut depth = 0;
    let closed = text[end..].find(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth == 0
    });
    &text[..closed.map_or(text.len(), |closed| end + closed + 1)]
}

/// Paths of a tree, `{}` written out.
fn written_out(tree: &str) -> Vec<String> {
    let Some((stem, list)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let list = list.strip_suffix('}').unwrap_or(list);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in list.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(letter),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| written_out(&format!("{stem}{part}"))).collect()
}

/// A path from the crate's root, for one that a module has.
fn from_root(module: &str, path: &str) -> String {
    let (mut above, mut path) = (if path.starts_with("crate::") { "" } else { module }, path);
    path = path.strip_prefix("crate::").or_else(|| path.strip_prefix("self::")).unwrap_or(path);
    while let Some(rest) = path.strip_prefix("super::") {
        (above, path) = (above.rsplit_once("::").map_or("", |(above, _)| above), rest);
    }
    if above.is_empty() { path.to_owned() } else { format!("{above}::{path}") }
}

/// Module in which a path ends, wherever it was passed on.
fn home(path: &str, known: &BTreeMap<String, Names>) -> Option<String> {
    let parts: Vec<_> = path.split("::").collect();
    let length = (1..=parts.len()).rev().find(|&length| known.contains_key(&parts[..length].join("::")))?;
    let module = parts[..length].join("::");
    let passed_on = parts.get(length).and_then(|name| known[&module].passed_on.get(*name));
    let there = |path: &str| home(&[&[path], &parts[length + 1..]].concat().join("::"), known);
    passed_on.map_or(Some(module), |path| there(path))
}

/// Modules that a module imports something from; but for its own parts.
fn imports(module: &str, known: &BTreeMap<String, Names>) -> BTreeSet<String> {
    let is_part = |other: &str| other.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"));
    let homes = known[module].used.iter().filter_map(|path| home(path, known));
    homes.filter(|other| other != module && !is_part(other)).collect()
}

/// Modules that can be reached from one, along imports.
fn reached<'a>(from: &str, arrows: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = left.pop() {
        for next in arrows.get(&module).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                left.push(next.clone());
            }
        }
    }
    seen
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let known = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let arrows: BTreeMap<_, _> = known.keys().map(|module| (module.clone(), imports(module, &known))).collect();
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 1_000, "the imports are found");
    let all: BTreeMap<_, _> = known.keys().map(|module| (module.as_str(), reached(module, &arrows))).collect();
    for (&module, others) in &all {
        let circle: Vec<_> = others.iter().filter(|&&other| other != module && all[other].contains(module)).collect();
        assert!(circle.is_empty(), "{module} and {circle:?} import each other in a circle");
    }
}

#[test]
fn names_are_found_in_lists_and_in_code() {
    let text = "pub use crate::a::{B as C, d::{E, F}};\nuse super::g;\n// crate::not\npub(in crate::a) fn f() {\n    \
                self::h::i();\n}\n#[cfg(test)]\nmod tests {\n    use crate::not;\n}\n";
    let names = names("m::n", text);
    assert_eq!(names.used, ["a::B", "a::d::E", "a::d::F", "m::g", "m::n::h::i"]);
    let passed_on: Vec<_> = names.passed_on.iter().map(|(name, path)| (name.as_str(), path.as_str())).collect();
    assert_eq!(passed_on, [("C", "a::B"), ("E", "a::d::E"), ("F", "a::d::F")]);
}

#[test]
fn what_is_passed_on_comes_from_its_own_module() {
    let texts = [("a", "pub use self::b::C;"), ("a::b", "use super::super::d;"), ("d", "use crate::a::{C, E};")];
    let known: BTreeMap<_, _> = texts.map(|(module, text)| (module.to_owned(), names(module, text))).into();
    assert_eq!(imports("d", &known).into_iter().collect::<Vec<_>>(), ["a", "a::b"]);
    assert_eq!(imports("a::b", &known).into_iter().collect::<Vec<_>>(), ["d"]);
    assert!(imports("a", &known).is_empty(), "it may name its parts");
}
