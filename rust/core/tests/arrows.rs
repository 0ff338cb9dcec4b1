//! Imports follow the arrows of `lib.rs`: units and errors below, the loop on top, never the other way.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules from the bottom up; a module may use those on lower levels, and its own.
const LEVELS: [(&str, usize); 14] = [
    ("units", 0),
    ("error", 0),
    ("random", 0),
    ("params", 1),
    ("algo", 1),
    ("workload", 2),
    ("platform", 3),
    ("trace", 3),
    ("power", 4),
    ("cluster", 5),
    ("policy", 6),
    ("control", 7),
    ("sim", 8),
    ("prelude", 9),
];

fn level(module: &str) -> usize {
    LEVELS.iter().find(|(name, _)| *name == module).map_or_else(|| panic!("no level for `{module}`"), |row| row.1)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The modules that a file's non-test lines name after `crate::`.
fn used(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn every_import_points_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for file in files(&source) {
        let relative = file.strip_prefix(&source).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        for name in used(&fs::read_to_string(&file).unwrap()) {
            let down = level(name) < level(module) || name == module;
            assert!(
                down,
                "{}: {module} (level {}) uses {name} (level {})",
                relative.display(),
                level(module),
                level(name)
            );
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} imports were found");
}

#[test]
fn the_core_does_not_know_python_files_or_clocks() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in files(&source).into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(&file).unwrap();
        for banned in ["pyo3", "std::fs", "std::net", "std::time", "std::env", "HashMap", "HashSet"] {
            assert!(!text.contains(banned), "{} names {banned}", file.display());
        }
    }
}

/// Parts that may know a job's true length or its outcome in reality.
const KNOW_TRUTH: [&str; 5] =
    ["backfill/observed.rs", "order/observed.rs", "order/vahrm.rs", "placement/assignment.rs", "placement/observed.rs"];

#[test]
fn policies_read_what_jobs_said_and_only_named_parts_the_truth() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/policy");
    let mut knowing = Vec::new();
    for file in files(&policy).into_iter().filter(|file| !file.ends_with("testing.rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for hidden in ["Workload", "Actual", "sim::", "control::"] {
            assert!(!code.contains(hidden), "{} names {hidden}", file.display());
        }
        if code.contains(".truth(") {
            knowing.push(file.strip_prefix(&policy).unwrap().to_str().unwrap().to_owned());
        }
    }
    knowing.sort();
    assert_eq!(knowing, KNOW_TRUTH);
}

#[test]
fn every_file_of_tests_is_compiled() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let main = fs::read_to_string(tests.join("main.rs")).unwrap();
    for file in files(&tests) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let is_named = main.lines().any(|line| line == format!("mod {name};"));
        assert!(is_named || ["main", "added_parts"].contains(&name), "{}: not in main.rs", file.display());
    }
}
