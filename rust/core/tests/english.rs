//! Doc comments name things and say what functions do: none opens like an answer to a question.

use std::fs;
use std::path::Path;

use crate::arrows::files;

/// Words that open no doc comment.
const OPENERS: [&str; 13] =
    ["What", "Whether", "How", "When", "Which", "Where", "Who", "Whose", "Why", "Of", "As", "That", "So"];

/// Marker and text of a line that is a doc comment.
fn doc(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker))?;
    let text = &line[marker.len()..];
    (text.is_empty() || text.starts_with(' ')).then(|| (marker, text.trim()))
}

/// Number and text of the first line of each block of doc comments.
fn openings(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut before = None;
    source.lines().zip(1..).filter_map(move |(line, number)| {
        let (marker, text) = doc(line).unzip();
        let opens = marker != std::mem::replace(&mut before, marker);
        text.filter(|_| opens).map(|text| (number, text))
    })
}

fn is_answer(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).next();
    first.is_some_and(|first| OPENERS.contains(&first))
}

#[test]
fn doc_comments_open_with_no_question_word() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut seen, mut bad) = (0, Vec::new());
    for folder in [core.join("src"), core.with_file_name("py").join("src")] {
        for file in files(&folder) {
            let source = fs::read_to_string(&file).unwrap();
            for (number, text) in openings(&source) {
                seen += 1;
                if is_answer(text) {
                    bad.push(format!("{}:{number}: {text}", file.display()));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{} doc comments open with a question word:\n{}", bad.len(), bad.join("\n"));
    assert!(seen > 2000, "only {seen} doc comments were found");
}

#[test]
fn openings_are_the_first_lines_of_blocks() {
    let source = "//! One\n//! What\n\n/// Whether\n///\n/// How\nfn f() {}\n    // Of\n    //// As\n    /// Two, so";
    assert_eq!(openings(source).collect::<Vec<_>>(), [(1, "One"), (4, "Whether"), (10, "Two, so")]);
    assert!(is_answer("What's next") && is_answer("So: this") && is_answer("Of a job"));
    assert!(!is_answer("Whatever") && !is_answer("Softness") && !is_answer("A word, What"));
}
