//! Did you mean …? One measure of likeness for commands, options, filter keys, types and jobs.

/// The candidate most like `typed`, if any is like enough to be what was meant.
pub fn nearest<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    const LIKE_ENOUGH: f64 = 0.8;
    let typed = typed.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::jaro_winkler(&typed, &c.to_lowercase()), c))
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        // The first of equals, so that the answer does not depend on anything but the order given.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, c)| c)
}

/// `; did you mean …?` for the nearest candidate, or nothing.
pub fn hint<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    nearest(typed, candidates).map(|c| format!("; did you mean `{c}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let words = ["parent", "job", "namespace", "type", "status"];
        assert_eq!(nearest("parnet", words), Some("parent"));
        assert_eq!(nearest("nmaespace", words), Some("namespace"));
        assert_eq!(nearest("STATUS", words), Some("status"));
        assert_eq!(nearest("colour", words), None);
    }
}
