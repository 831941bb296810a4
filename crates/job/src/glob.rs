//! Patterns of names, as a shell has them.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// This letter.
    Letter(char),
    /// `?`: any letter but `/`.
    Any,
    /// `[a-z]`, or `[!a-z]`: one of these, or none of these, and never `/`.
    Class(bool, Vec<(char, char)>),
    /// `*`: any letters but `/`, or none.
    Star,
    /// `**`: any letters, or none.
    Stars,
}

/// A pattern of names: `*` and `?` stand for letters of one level, `**` for those of several, `[a-z]` for one of these;
/// after a backslash a letter stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
}

/// Whether a name is a pattern.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Reads a class after its `[`; none if it has no end.
fn class(letters: &mut core::iter::Peekable<core::str::Chars<'_>>) -> Option<Token> {
    let mut rest = letters.clone();
    let is_not = rest.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next()? {
            ']' if !ranges.is_empty() => break,
            '\\' => rest.next()?,
            letter => letter,
        };
        let mut after = rest.clone();
        let last = match (after.next(), after.next()) {
            (Some('-'), Some(last)) if last != ']' => {
                rest = after;
                last
            }
            _ => first,
        };
        ranges.push((first, last));
    }
    *letters = rest;
    Some(Token::Class(is_not, ranges))
}

impl Glob {
    /// The pattern that is written so. Everything is one: a bracket without an end stands for itself.
    pub fn new(text: &str) -> Glob {
        let mut tokens = Vec::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            tokens.push(match letter {
                '*' if letters.next_if_eq(&'*').is_some() => Token::Stars,
                '*' => Token::Star,
                '?' => Token::Any,
                '[' => class(&mut letters).unwrap_or(Token::Letter('[')),
                '\\' => Token::Letter(letters.next().unwrap_or('\\')),
                letter => Token::Letter(letter),
            });
        }
        Glob { tokens }
    }

    /// The pattern that matches this name alone.
    #[must_use]
    pub fn exactly(name: &str) -> Glob {
        Glob { tokens: name.chars().map(Token::Letter).collect() }
    }

    /// The same, for all names that begin so.
    #[must_use]
    pub fn and_below(mut self) -> Glob {
        self.tokens.push(Token::Stars);
        self
    }

    /// What all names begin with that it matches.
    pub fn prefix(&self) -> String {
        let letter = |token: &Token| match token {
            Token::Letter(letter) => Some(*letter),
            _ => None,
        };
        self.tokens.iter().map_while(letter).collect()
    }

    /// Whether it matches the whole name. The work is at most that of all its parts for each letter.
    pub fn matches(&self, name: &str) -> bool {
        let count = self.tokens.len();
        // Where in the pattern one can be after the letters so far.
        let mut at = vec![false; count + 1];
        at[0] = true;
        let pass = |at: &mut [bool]| {
            for (place, token) in self.tokens.iter().enumerate() {
                at[place + 1] |= at[place] && matches!(token, Token::Star | Token::Stars);
            }
        };
        pass(&mut at);
        for letter in name.chars() {
            let mut next = vec![false; count + 1];
            for (place, token) in self.tokens.iter().enumerate().filter(|(place, _)| at[*place]) {
                match token {
                    Token::Stars => next[place] = true,
                    Token::Star => next[place] |= letter != '/',
                    Token::Letter(of) => next[place + 1] |= letter == *of,
                    Token::Any => next[place + 1] |= letter != '/',
                    Token::Class(is_not, ranges) => {
                        let is_in = ranges.iter().any(|(a, b)| (*a..=*b).contains(&letter));
                        next[place + 1] |= letter != '/' && is_in != *is_not;
                    }
                }
            }
            pass(&mut next);
            at = next;
        }
        at[count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_a_shell_says() {
        for (pattern, name, is) in [
            ("a/*.jpg", "a/b.jpg", true),
            ("a/*.jpg", "a/.jpg", true),
            ("a/*.jpg", "a/b/c.jpg", false),
            ("a/**.jpg", "a/b/c.jpg", true),
            ("**/c", "a/b/c", true),
            ("?b", "ab", true),
            ("?b", "üb", true),
            ("?b", "/b", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "/x", false),
            ("[]]x", "]x", true),
            ("[a-]", "-", true),
            ("[ab", "[ab", true),
            ("\\*x", "*x", true),
            ("\\*x", "yx", false),
            ("*a*a*a*a*a*b", &"a".repeat(200), false),
            ("", "", true),
            ("*", "", true),
            ("a", "ab", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), is, "{pattern} {name}");
        }
        assert!(Glob::new("a*/").and_below().matches("ab/c/d"));
        assert_eq!(Glob::new("a/\\*b?c*").prefix(), "a/*b");
        assert!(is_glob("a*") && is_glob("[") && !is_glob("a\\b"));
    }
}
