//! Files import each other in no circle that leaves their folder: of two modules only one knows the other. A module's
//! own file may name its parts, which know it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::arrows::files;

/// Files by the path of their module, such as `policy::desk`.
fn modules(source: &Path) -> BTreeMap<String, PathBuf> {
    let name = |file: &PathBuf| {
        let relative = file.strip_prefix(source).unwrap().with_extension("");
        let names: Vec<_> = relative.iter().map(|part| part.to_str().unwrap()).filter(|part| *part != "mod").collect();
        names.join("::")
    };
    files(source).into_iter().map(|file| (name(&file), file)).collect()
}

/// Paths that `use` lines name, `{}` written out.
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
    parts.iter().filter(|part| !part.is_empty()).flat_map(|part| written_out(&format!("{stem}{part}"))).collect()
}

/// Modules that a module imports something from, outside its tests; but for its own parts.
fn imports(module: &str, text: &str, known: &BTreeMap<String, PathBuf>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let trees = lines.split("use crate::").skip(1).filter_map(|rest| rest.split(';').next());
    let paths = trees.flat_map(|tree| written_out(&tree.replace(char::is_whitespace, "")));
    let home = |path: String| {
        let names: Vec<_> = path.split("::").collect();
        (1..=names.len()).rev().map(|length| names[..length].join("::")).find(|name| known.contains_key(name))
    };
    let is_part = |other: &str| other.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"));
    paths.filter_map(home).filter(|other| other != module && !is_part(other)).collect()
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

/// Folder of a module's parts if it has some, or else the folder that it is in.
fn folder(module: &str, known: &BTreeMap<String, PathBuf>) -> String {
    let parts = format!("{module}::");
    match module.rsplit_once("::") {
        Some((above, _)) if !known.keys().any(|other| other.starts_with(&parts)) => above.to_owned(),
        _ => module.to_owned(),
    }
}

#[test]
fn circles_of_imports_stay_within_a_folder() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let known = modules(&source);
    let read = |(module, file): (&String, &PathBuf)| {
        (module.clone(), imports(module, &fs::read_to_string(file).unwrap(), &known))
    };
    let arrows: BTreeMap<_, _> = known.iter().map(read).collect();
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 1_000, "the imports are found");
    let all: BTreeMap<_, _> = known.keys().map(|module| (module.as_str(), reached(module, &arrows))).collect();
    for (&module, others) in &all {
        let back = others.iter().filter(|&&other| other != module && all[other].contains(module));
        let elsewhere: Vec<_> = back.filter(|&&other| folder(other, &known) != folder(module, &known)).collect();
        assert!(elsewhere.is_empty(), "{module} and {elsewhere:?} import each other in a circle");
    }
}

#[test]
fn trees_of_imports_are_written_out() {
    assert_eq!(written_out("a::{b,c::{d,e},f::g}"), ["a::b", "a::c::d", "a::c::e", "a::f::g"]);
}
