//! Names: the field's terms, one for each thing.

use std::fs;

use crate::{root, tracked};

/// Words of names, and what they are called here.
const WORDS: [(&str, &str); 7] = [
    ("MOST", "MAX"),
    ("LEAST", "MIN"),
    ("Standing", "Status"),
    ("Wish", "Effect"),
    ("News", "Event"),
    ("Mute", "Unavailable"),
    ("Storm", "Simulation"),
];

/// The words of a name: `MAX_LINES` and `StoreStatus` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().expect("at least one").push(letter);
        }
        before = letter;
    }
    words
}

/// Names in a source that have a word of the list, with their lines.
fn problems(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        let names = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        for name in names.filter(|name| name.starts_with(char::is_uppercase)) {
            let of_name = words(name);
            let is_constant = name.contains('_');
            for (word, instead) in WORDS {
                // In capitals only constants are meant.
                let counts = is_constant || word.contains(char::is_lowercase);
                if counts && of_name.iter().any(|of| of == word) {
                    let number = number + 1;
                    found.push(format!("{path}:{number}: {name}: `{instead}`, not `{word}`"));
                }
            }
        }
    }
    found
}

#[test]
fn names_have_the_terms_of_the_field() {
    let Some(paths) = tracked() else { return };
    let is_source = |path: &&String| path.ends_with(".rs") && !path.contains("tests/tidy/");
    let complaints = |path: &String| {
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        problems(path, &text)
    };
    let found: Vec<String> = paths.iter().filter(is_source).flat_map(complaints).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn other_terms_are_found() {
    let planted = "const MOST_LINES: usize = 3;\nenum Standing {}\nlet x = RepairNews::New; // MOST_X\n\
                   /// The MOST that LEAST_ can be.\nconst LEAST: u8 = 1;\nstruct Outstanding;\n";
    let found = problems("a.rs", planted);
    let expected = [
        "a.rs:1: MOST_LINES: `MAX`, not `MOST`",
        "a.rs:2: Standing: `Status`, not `Standing`",
        "a.rs:3: RepairNews: `Event`, not `News`",
    ];
    assert_eq!(found, expected);
}
