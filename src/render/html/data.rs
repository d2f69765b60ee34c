//! What the script reads: each track once, as JSON that cannot end its element.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use crate::render::text::visible;
use crate::report::thin::Thinned;
use crate::report::track::Span;

/// JSON for the inside of a `script` element: no character that HTML or JavaScript gives a meaning stays.
pub fn escaped(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\'' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn block(id: &str, value: &Value) -> Markup {
    html! { script type="application/json" id=(id) { (PreEscaped(escaped(value))) } }
}

/// The runs of one term: `[term, first, last]` each.
pub fn terms(terms: &[Span]) -> Markup {
    let rows: Vec<Value> = terms.iter().map(|span| json!([span.term, span.first, span.last])).collect();
    block("terms", &Value::Array(rows))
}

/// Numbers for strings, each stored once.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    places: HashMap<String, usize>,
}

impl Strings {
    fn place(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        self.list.push(visible(text).into_owned());
        self.places.insert(text.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// One track: `index` holds differences, `entry` and `child` places in `names` (-1 for no child), `counts` three
/// numbers for each change, or null where the parent is gone.
pub fn track(number: usize, track: &Thinned) -> Markup {
    let mut names = Strings::default();
    let (mut index, mut entry, mut child, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut last = 0;
    for change in &track.changes {
        index.push(change.index.0.saturating_sub(last));
        last = change.index.0;
        entry.push(names.place(&change.entry));
        child.push(change.child.as_deref().map_or(json!(-1), |name| json!(names.place(name))));
        match change.counts {
            Some(children) => counts.extend(children.as_array().map(Value::from)),
            None => counts.extend([Value::Null, Value::Null, Value::Null]),
        }
    }
    let value = json!({"index": index, "entry": entry, "child": child, "counts": counts, "names": names.list});
    block(&format!("track-{number}"), &value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_end_the_element_it_stands_in() {
        let text = escaped(&json!(["</script><script>alert(1)</script>", "<!--", "\u{2028}", "a'b\"c"]));
        assert!(!text.contains(['<', '>', '&', '\'', '\u{2028}']), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, ["</script><script>alert(1)</script>", "<!--", "\u{2028}", "a'b\"c"]);
    }
}
