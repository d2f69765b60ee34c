//! JUnit XML: one test case for each parent, so that a pipeline shows the audit among its tests.

use std::io;

use quick_xml::Writer;
use quick_xml::events::BytesText;

use super::sarif::message;
use crate::audit::finding::Finding;
use crate::audit::report::{Judging, Report};
use crate::types::JobName;

/// Everything that is about no parent is one test case of this class.
const LOG_CLASS: &str = "log";

/// One test case: its class and name, and the findings that it fails by or only mentions.
struct Case<'r> {
    class: &'r str,
    name: &'r str,
    failures: Vec<&'r Finding>,
    mentioned: Vec<&'r Finding>,
}

/// Writes the report as a JUnit document. `judging` says which findings fail their case.
///
/// # Errors
/// Those of the writer.
pub fn write(report: &Report, judging: &Judging<'_>, mut out: &mut dyn io::Write) -> io::Result<()> {
    let cases = cases(report, judging);
    let failures = cases.iter().filter(|case| !case.failures.is_empty()).count();
    let mut xml = Writer::new_with_indent(&mut out, b' ', 2);
    xml.write_event(quick_xml::events::Event::Decl(quick_xml::events::BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let (tests, failures) = (cases.len().to_string(), failures.to_string());
    let totals = [("tests", tests.as_str()), ("failures", failures.as_str()), ("errors", "0")];
    let suite = format!("raftscope audit {}", report.evidence.path);
    xml.create_element("testsuites").with_attributes(totals).write_inner_content(|xml| {
        let element = xml.create_element("testsuite").with_attribute(("name", suite.as_str()));
        element.with_attributes(totals).write_inner_content(|xml| {
            for case in &cases {
                write_case(xml, case)?;
            }
            Ok(())
        })?;
        Ok(())
    })?;
    out.write_all(b"\n")
}

fn cases<'r>(report: &'r Report, judging: &Judging<'_>) -> Vec<Case<'r>> {
    let of = |case: &mut Case<'r>, finding: &'r Finding| {
        if judging.fails(finding) { case.failures.push(finding) } else { case.mentioned.push(finding) }
    };
    let mut cases: Vec<Case<'r>> = Vec::new();
    for JobName { namespace, id } in report.parents.iter().map(|key| &**key) {
        let mut case = Case { class: namespace, name: id, failures: Vec::new(), mentioned: Vec::new() };
        let about = |f: &&'r Finding| f.parent.as_ref() == Some(id) && f.namespace.as_ref() == Some(namespace);
        report.findings.iter().map(|r| &r.finding).filter(about).for_each(|f| of(&mut case, f));
        cases.push(case);
    }
    let mut log = Case { class: LOG_CLASS, name: "entries", failures: Vec::new(), mentioned: Vec::new() };
    report.findings.iter().map(|r| &r.finding).filter(|f| f.parent.is_none()).for_each(|f| of(&mut log, f));
    cases.push(log);
    cases
}

fn write_case<W: io::Write>(xml: &mut Writer<W>, case: &Case<'_>) -> io::Result<()> {
    let element = xml
        .create_element("testcase")
        .with_attributes([("classname", clean(case.class).as_str()), ("name", clean(case.name).as_str())]);
    if case.failures.is_empty() && case.mentioned.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|xml| {
        for finding in &case.failures {
            let text = message(finding);
            let first = text.split(". ").next().unwrap_or_default();
            xml.create_element("failure")
                .with_attributes([("message", clean(first).as_str()), ("type", finding.kind.name())])
                .write_text_content(BytesText::new(&clean(&text)))?;
        }
        if !case.mentioned.is_empty() {
            let texts: Vec<String> = case.mentioned.iter().map(|f| clean(&message(f))).collect();
            xml.create_element("system-out").write_text_content(BytesText::new(&texts.join("\n")))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// XML 1.0 has no place for control characters; other people's text may hold them.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}
