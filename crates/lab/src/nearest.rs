//! "Did you mean ...?"

/// The candidate most like `text`, if it is near enough to be a slip of the fingers.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase().replace('-', "_");
    let distance = |candidate: &str| {
        strsim::damerau_levenshtein(&text, &candidate.to_lowercase().replace('-', "_"))
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        // A third of the letters may be wrong; beyond that a suggestion would be noise.
        .filter(|(distance, candidate)| *distance * 3 <= candidate.len().max(6))
        .map(|(_, candidate)| candidate)
}

/// The help line for an unknown name.
pub fn did_you_mean(near: Option<&str>) -> Option<String> {
    near.map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_nonsense_is_not() {
        let words = ["replicast-m", "replicast-h", "uch-ccp"];
        assert_eq!(nearest("replicast_m", words), Some("replicast-m"));
        assert_eq!(nearest("uhc-ccp", words), Some("uch-ccp"));
        assert_eq!(nearest("tcp-tahoe", words), None);
    }
}
