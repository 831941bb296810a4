//! Patterns: `*` stands for any letters, `?` for one.

/// Whether `text` is what `pattern` says. It takes time in proportion to the product of their lengths at most.
pub(crate) fn matches(pattern: &str, text: &str, ignores_case: bool) -> bool {
    let same = |a: char, b: char| a == b || (ignores_case && a.eq_ignore_ascii_case(&b));
    let (mut wanted, mut left) = (pattern, text);
    // After the last star: what is wanted behind it, and from where on the star has taken nothing yet.
    let mut star: Option<(&str, &str)> = None;
    loop {
        let mut rest = wanted.chars();
        match (rest.next(), left.chars().next()) {
            (Some('*'), _) => {
                wanted = rest.as_str();
                star = Some((wanted, left));
                continue;
            }
            (None, None) => return true,
            (Some(pattern), Some(letter)) if pattern == '?' || same(pattern, letter) => {
                (wanted, left) = (rest.as_str(), &left[letter.len_utf8()..]);
                continue;
            }
            _ => {}
        }
        // It does not fit: the last star takes a letter more. Stars before it need not be tried again.
        let Some((behind, from)) = star else { return false };
        let Some(letter) = from.chars().next() else { return false };
        let from = &from[letter.len_utf8()..];
        star = Some((behind, from));
        (wanted, left) = (behind, from);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::matches;

    /// The same as plainly as can be.
    fn plain(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|taken| plain(rest, &text[taken..])),
            ['?', rest @ ..] => !text.is_empty() && plain(rest, &text[1..]),
            [letter, rest @ ..] => text.first() == Some(letter) && plain(rest, &text[1..]),
        }
    }

    #[test]
    fn stars_stand_for_any_letters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("?", "é", true),
            ("??", "é", false),
            ("a/*", "a/b/c", true),
            ("*b", "aab", true),
            ("A", "a", false),
        ] {
            assert_eq!(matches(pattern, text, false), expected, "{pattern} {text}");
        }
        assert!(matches("S3:GET*", "s3:GetObject", true));
    }

    #[test]
    fn a_pattern_of_many_stars_ends_soon() {
        let text: String = "a".repeat(5000);
        assert!(!matches(&("*a".repeat(2000) + "b"), &text, false));
    }

    proptest! {
        #[test]
        fn patterns_match_as_the_plain_rule_says(pattern in "[ab*?é]{0,8}", text in "[abé]{0,8}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = plain(&letters(&pattern), &letters(&text));
            prop_assert_eq!(matches(&pattern, &text, false), expected);
        }
    }
}
