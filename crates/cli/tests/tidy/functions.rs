//! Functions: none too long.

use std::fs;

use crate::{root, tracked};

/// Most lines of a function, from its name to its last brace.
const MAX_LINES: usize = 80;

/// Functions that have more, with their number of lines. This list may only shrink, and so may
/// they.
const LONG: &[(&str, &str, usize)] = &[
    ("crates/lab/src/setting/tests.rs", "every_field_of_a_scenario_is_a_setting", 128),
    ("studies/lustre/src/check.rs", "check_lustre", 85),
];

/// The name of the function that begins in `line`, which has no indentation.
fn name_in(line: &str) -> Option<&str> {
    let mut words = line.split(' ');
    let is_qualifier = |word: &&str| {
        matches!(*word, "const" | "async" | "unsafe" | "extern" | "\"C\"" | "default")
            || word.starts_with("pub")
    };
    if words.by_ref().find(|word| !is_qualifier(word))? != "fn" {
        return None;
    }
    words.next()?.split(['(', '<']).next().filter(|name| !name.is_empty())
}

/// How many lines the function has that begins with the first of `lines`, by the indentation that
/// the formatter gives it. One if it has no body, or nothing in it.
fn length(lines: &[&str]) -> usize {
    let indentation = lines[0].len() - lines[0].trim_start().len();
    let mut is_open = false;
    for (number, line) in lines.iter().enumerate() {
        let is_outermost = line.len() - line.trim_start().len() == indentation;
        if is_outermost && number > 0 && line.trim_start() == "}" {
            return number + 1;
        }
        is_open |= is_outermost && line.ends_with('{');
        if !is_open && line.ends_with([';', '}']) {
            return 1;
        }
    }
    1
}

/// The functions of a source, with the number of their lines.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |number: usize| name_in(lines[number].trim_start()).map(|name| (number, name));
    let found = (0..lines.len()).filter_map(begins);
    found.map(|(number, name)| (name, length(&lines[number..]))).collect()
}

/// What is wrong with the functions of a source.
fn problems(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, lines) in functions(text) {
        match LONG.iter().find(|(file, long, _)| *file == path && *long == name) {
            Some((_, _, most)) if lines > *most => {
                found.push(format!("{path}: {name} has {lines} lines, and had {most}"));
            }
            None if lines > MAX_LINES => {
                found.push(format!("{path}: {name} has {lines} lines, more than {MAX_LINES}"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn functions_are_short() {
    let Some(paths) = tracked() else { return };
    let mut found = Vec::new();
    let mut longest = vec![0; LONG.len()];
    for path in paths.iter().filter(|path| path.ends_with(".rs")) {
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        found.extend(problems(path, &text));
        for ((file, long, _), longest) in LONG.iter().zip(&mut longest) {
            let of = |(name, lines)| if file == path && *long == name { lines } else { 0 };
            *longest = functions(&text).into_iter().map(of).fold(*longest, usize::max);
        }
    }
    assert_eq!(found, Vec::<String>::new());
    for ((file, long, _), longest) in LONG.iter().zip(longest) {
        assert!(longest > MAX_LINES, "{file}: {long} is no exception any more: strike it");
    }
}

#[test]
fn lines_of_functions_are_counted() {
    let text = "\
trait A {
    fn declared(&self);
    fn over_lines(
        &self,
    ) -> u32
    where
        Self: Sized;
    /// fn no_function() {
    pub(crate) const fn empty() {}
    pub async fn short<T>(
        a: T,
    ) {
        if let Some(b) = a {
            let nested = |x| {
                x
            };
        }
    }
}

extern \"C\" fn last() {
    fn inner() {
        1;
    }
}
";
    let expected =
        [("declared", 1), ("over_lines", 1), ("empty", 1), ("short", 9), ("last", 5), ("inner", 3)];
    assert_eq!(functions(text), expected);
}

#[test]
fn planted_long_functions_are_found() {
    let function = |name: &str, lines: usize| {
        let body = "    1;\n".repeat(lines - 2);
        format!("fn {name}() {{\n{body}}}\n")
    };
    assert!(problems("a.rs", &function("f", MAX_LINES)).is_empty());
    let found = problems("a.rs", &function("f", MAX_LINES + 1));
    assert_eq!(found, ["a.rs: f has 81 lines, more than 80"]);
    for (file, long, most) in LONG {
        assert!(problems(file, &function(long, *most)).is_empty());
        assert!(problems(file, &function(long, most + 1))[0].contains("and had"));
    }
}
