//! `report` in a real browser: what is seen without scrolling, what the mouse and the keyboard do, and that the page
//! neither complains nor asks for anything.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{fixture, run_to};
use crate::report_page::log_of;
use crate::support::browser::Browser;

/// The page of a log as a file.
fn page_of(code: i32, path: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    run_to(code, &[&["report", "-q", "-o", file.to_str().unwrap(), path], more].concat());
    (dir, file)
}

/// The texts that are seen in a window of 1280 by 800 pixels, joined.
const SEEN: &str = "(() => {
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest('script, style, [hidden], title')) continue;
    if (getComputedStyle(parent).visibility === 'hidden') continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = parent instanceof SVGElement ? parent.getBoundingClientRect() : range.getBoundingClientRect();
    if (box.width && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth) seen.push(node.data.trim());
  }
  return seen.join(' ');
})()";

/// Labels of one chart that lie over each other.
const OVERLAPS: &str = "(() => {
  const bad = [];
  for (const chart of document.querySelectorAll('figure.chart')) {
    const texts = [...chart.querySelectorAll('svg text')].filter((t) => getComputedStyle(t).visibility !== 'hidden' && t.textContent.trim());
    const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
    boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
      const over = Math.min(a.right, b.right) - Math.max(a.left, b.left), deep = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (over > 1 && deep > 4) bad.push(one + ' / ' + other);
    }));
  }
  return bad.concat(document.documentElement.scrollWidth > innerWidth ? ['wider than the window'] : []);
})()";

fn no_complaints(browser: &mut Browser, file: &Path) {
    assert_eq!(browser.complaints(file), Vec::<String>::new());
}

#[test]
fn the_investigation_is_seen_without_scrolling() {
    let Some(mut browser) = Browser::start() else { return };
    let (_dir, file) = page_of(0, &fixture("horizontal_hey"), &[]);
    browser.resize(1280, 800);
    for scripts in [true, false] {
        browser.scripts(scripts);
        browser.open(&file);
        browser.scripts(true);
        let seen = browser.eval(SEEN);
        let seen = seen.as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "3 errors, 0 warnings, 0 notes",
            "fixtures/horizontal_hey/raft.db (boltdb)",
            "horizontal_hey",
            "term 3 from 1561",
            "1609: Running −1",
            "Running of horizontal_hey is -1, from index 1609 (term 3, JobRegister) until 1610 (ApplyPlanResults)",
            "The child arrived with status \"running\" already set.",
            "before it, the leader changed at index 1561 (term 3)",
        ] {
            assert!(seen.contains(expected), "scripts {scripts}: {expected} is not seen:\n{seen}");
        }
        no_complaints(&mut browser, &file);
    }
}

#[test]
fn no_label_lies_over_another_at_any_width_and_in_any_light() {
    let Some(mut browser) = Browser::start() else { return };
    let mut cases =
        vec![("horizontal_hey", 0), ("real-2.0.5/s1", 0), ("compacted_mismatch", 0), ("reconcile_namesakes", 0)];
    cases.extend([("snapshot_already_drifted", 0), ("rejected_entries", 0), ("unknown_types", 3)]);
    for (case, code) in cases {
        let (_dir, file) = page_of(code, &fixture(case), &["--all"]);
        for (width, height) in [(1280, 800), (1920, 1080), (500, 900)] {
            for scheme in ["light", "dark"] {
                browser.prefer(scheme);
                browser.resize(width, height);
                browser.open(&file);
                assert_eq!(browser.eval(OVERLAPS), Value::Array(vec![]), "{case} at {width}, {scheme}");
                browser.picture(&format!("{}-{width}-{scheme}", case.replace('/', "-")));
                no_complaints(&mut browser, &file);
            }
        }
        let background = "getComputedStyle(document.body).backgroundColor";
        let dark = browser.eval(background);
        browser.prefer("light");
        assert_ne!(browser.eval(background), dark);
    }
}

#[test]
fn the_mouse_tells_index_term_and_entry_and_zooms() {
    let Some(mut browser) = Browser::start() else { return };
    let (_dir, file) = page_of(0, &fixture("horizontal_hey"), &[]);
    browser.resize(1280, 800);
    browser.open(&file);
    let chart = "document.querySelector('figure.chart')";
    let place = |browser: &mut Browser, index: u64| {
        let at = format!(
            "(() => {{ const b = {chart}.querySelector('svg.area').getBoundingClientRect(); return [b.left + b.width * ({index} - 1 + 0.5) / 3045, b.top + 60]; }})()"
        );
        let at = browser.eval(&at);
        (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
    };
    let readout = format!("{chart}.querySelector('.readout').textContent");
    let (x, y) = place(&mut browser, 1609);
    browser.mouse("mouseMoved", x, y);
    let told = browser.eval(&readout);
    assert_eq!(
        told,
        "index 1609, term 3, JobRegister: Pending 1, Running −1, Dead 12, horizontal_hey/periodic-1610940918"
    );
    let (x, y) = place(&mut browser, 1700);
    browser.mouse("mouseMoved", x, y);
    let told = browser.eval(&readout);
    let told = told.as_str().unwrap();
    assert!(told.starts_with("index 1700, term 3: Pending 0, Running −2") && told.contains("since entry"), "{told}");

    let (from, to) = (place(&mut browser, 1500), place(&mut browser, 1800));
    browser.mouse("mousePressed", from.0, from.1);
    browser.mouse("mouseMoved", (from.0 + to.0) / 2.0, from.1);
    browser.mouse("mouseMoved", to.0, to.1);
    browser.mouse("mouseReleased", to.0, to.1);
    let shown = browser.eval(&format!("{chart}.querySelector('.shown').textContent"));
    let ends: Vec<i64> = shown.as_str().unwrap().split(" to ").map(|n| n.parse().unwrap()).collect();
    assert!((ends[0] - 1500).abs() < 8 && (ends[1] - 1800).abs() < 8, "{shown}");
    assert_eq!(browser.eval(OVERLAPS), Value::Array(vec![]));
    browser.picture("zoomed");
    browser.eval(&format!("{chart}.querySelector('[data-do=whole]').click()"));
    assert_eq!(browser.eval(&format!("{chart}.querySelector('.shown').textContent")), "1 to 3045");
    no_complaints(&mut browser, &file);
}

#[test]
fn the_keyboard_reaches_everything() {
    let Some(mut browser) = Browser::start() else { return };
    let (_dir, file) = page_of(0, &fixture("horizontal_hey"), &[]);
    browser.resize(1280, 800);
    browser.open(&file);
    // Everything that can be used, in the order in which it stands, is what Tab comes to.
    browser.eval("document.querySelectorAll('a, button, input, summary, figure.chart, .wide').forEach((e, i) => { e.dataset.order = i; })");
    let all = browser.eval("document.querySelectorAll('[data-order]').length").as_u64().unwrap();
    assert!(all > 12, "{all}");
    let mut reached = Vec::new();
    for _ in 0..all {
        browser.press("Tab");
        reached.push(browser.eval("Number(document.activeElement.dataset.order ?? -1)").as_u64());
        let outlined = "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' || document.activeElement.matches('.chart:focus-visible'); })()";
        assert_eq!(browser.eval(outlined), true, "the focus is seen");
    }
    assert_eq!(reached, (0..all).map(Some).collect::<Vec<_>>());

    let readout = "document.activeElement.querySelector('.readout').textContent";
    browser.eval("document.querySelector('figure.chart').focus()");
    for (key, told) in [
        ("Home", "index 10, term 2, JobRegister: Pending 0, Running 0, Dead 0"),
        (
            "ArrowRight",
            "index 121, term 2, JobRegister: Pending 1, Running 0, Dead 0, horizontal_hey/periodic-1610938954",
        ),
        ("ArrowLeft", "index 10, term 2, JobRegister: Pending 0, Running 0, Dead 0"),
        ("End", "index 3045, term 3, JobRegister: Pending 1, Running −18, Dead 29, horizontal_hey/periodic-"),
    ] {
        browser.press(key);
        let now = browser.eval(readout);
        assert!(now.as_str().unwrap().starts_with(told), "{key}: {now}");
    }
    let shown = "document.activeElement.querySelector('.shown').textContent";
    browser.press("+");
    assert_eq!(browser.eval(shown), "1523 to 3045");
    browser.press("0");
    assert_eq!(browser.eval(shown), "1 to 3045");
    // From the first bad change to its explanation.
    browser.press("Home");
    for _ in 0..60 {
        browser.press("ArrowRight");
        if browser.eval(readout).as_str().unwrap().starts_with("index 1609,") {
            break;
        }
    }
    browser.press("Enter");
    assert_eq!(browser.eval("document.activeElement.id"), "entry-1609");
    no_complaints(&mut browser, &file);
}

#[test]
fn the_filter_leaves_what_holds_every_word() {
    let Some(mut browser) = Browser::start() else { return };
    let (_dir, file) = page_of(0, &fixture("compacted_mismatch"), &[]);
    browser.resize(1280, 800);
    browser.open(&file);
    browser.press("/");
    assert_eq!(browser.eval("document.activeElement.id"), "filter");
    for letter in "GEO import".chars() {
        browser.press(&letter.to_string());
    }
    let shown = "[...document.querySelectorAll('section.parent')].filter((s) => !s.hidden).map((s) => s.querySelector('h2').firstChild.data)";
    assert_eq!(browser.eval(shown), serde_json::json!(["prod/geo_import"]));
    no_complaints(&mut browser, &file);
}

#[test]
fn a_hostile_name_does_nothing_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let name = "</script><script>window.owned=1</script><img src=x onerror='window.owned=2'>\"'&\u{202e}evil";
    let (_log, path) = log_of(name);
    let (_dir, file) = page_of(0, &path, &["--rules", "1.0.4"]);
    browser.resize(1280, 800);
    browser.open(&file);
    assert_eq!(browser.eval("typeof window.owned"), "undefined");
    assert_eq!(browser.eval("document.images.length"), 0);
    browser.eval("document.querySelector('figure.chart').focus()");
    browser.press("End");
    let told = browser.eval("document.activeElement.querySelector('.readout').textContent");
    assert!(told.as_str().unwrap().contains("<img src=x onerror='window.owned=2'>"), "{told}");
    no_complaints(&mut browser, &file);
}

#[test]
fn a_printed_page_is_light_and_without_buttons() {
    let Some(mut browser) = Browser::start() else { return };
    let (_dir, file) = page_of(0, &fixture("horizontal_hey"), &[]);
    browser.resize(1280, 800);
    browser.prefer("dark");
    browser.open(&file);
    let media = serde_json::json!({"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", media);
    assert_eq!(browser.eval("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(browser.eval("getComputedStyle(document.querySelector('.tools')).display"), "none");
    let pdf = browser.call("Page.printToPDF", serde_json::json!({"printBackground": true}));
    assert!(pdf["data"].as_str().unwrap().len() > 10_000);
    no_complaints(&mut browser, &file);
}
