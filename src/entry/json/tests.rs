use super::*;
use crate::redact::Redactor;

/// Msgpack of a few values, as Nomad's writers encode them.
fn raw(bytes: &[u8]) -> Vec<u8> {
    let mut out = match bytes.len() {
        n @ 0..=31 => vec![0xa0 | n as u8],
        n => [&[0xda][..], &(n as u16).to_be_bytes()].concat(),
    };
    out.extend(bytes);
    out
}

fn map(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0x80 | pairs.len() as u8];
    for (key, value) in pairs {
        out.extend(raw(key.as_bytes()));
        out.extend(value);
    }
    out
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![0x90 | items.len() as u8];
    out.extend(items.concat());
    out
}

const NIL: [u8; 1] = [0xc0];

fn written(kind: u8, body: &[u8], mut redactor: Redactor) -> Result<String> {
    let mut out = Vec::new();
    BodyWriter::new().command(kind, body, &mut redactor, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn shown(kind: u8, body: &[u8]) -> String {
    written(kind, body, Redactor::showing()).unwrap()
}

fn hidden(kind: u8, body: &[u8]) -> String {
    written(kind, body, Redactor::hiding()).unwrap()
}

#[test]
fn keys_are_sorted_bytewise_at_every_depth_and_the_last_of_equal_ones_counts() {
    let inner = map(&[("b", vec![1]), ("B", map(&[])), ("a", list(&[map(&[("z", vec![1]), ("y", vec![2])])]))]);
    let body = map(&[("Z", inner), ("A", vec![0xc3]), ("Z2", vec![7]), ("A", vec![0xc2])]);
    assert_eq!(shown(4, &body), r#"{"A":false,"Z":{"B":{},"a":[{"y":2,"z":1}],"b":1},"Z2":7}"#);
}

#[test]
fn what_follows_a_sorted_out_map_is_still_read_in_place() {
    let unsorted = map(&[("b", list(&[map(&[("k", vec![1])])])), ("a", vec![2])]);
    let body = map(&[("A", unsorted.clone()), ("B", map(&[("x", unsorted.clone()), ("y", list(&[unsorted]))]))]);
    let one = r#"{"a":2,"b":[{"k":1}]}"#;
    assert_eq!(shown(4, &body), format!(r#"{{"A":{one},"B":{{"x":{one},"y":[{one}]}}}}"#));
}

#[test]
fn bytes_are_base64_and_times_are_times() {
    let time = [1, 0, 0, 0, 0x0e, 0xe1, 0x13, 0x66, 0x3c, 0x1c, 0xab, 0x7a, 0x40, 0xff, 0xff];
    let zero = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    let body = map(&[
        ("Anything", list(&[raw(&time), raw(&[0xff, 0xfe])])),
        ("CreateTime", vec![0xce, 1, 2, 3, 4]),
        ("Hash", raw(b"0123456789abcdef")),
        ("Name", raw("é<".as_bytes())),
        ("StartedAt", raw(&zero)),
    ]);
    let want = r#"{"Anything":["2026-02-03T03:45:00.481Z","//4="],"CreateTime":16909060,"Hash":"MDEyMzQ1Njc4OWFiY2RlZg==","Name":"é\u003c","StartedAt":"0001-01-01T00:00:00Z"}"#;
    assert_eq!(shown(21, &body), want);
}

#[test]
fn a_dispatch_payload_is_decompressed_and_a_words_payload_is_a_word() {
    let block = snap::raw::Encoder::new().compress_vec(b"hello hello hello hello").unwrap();
    let job = map(&[("ParameterizedJob", map(&[("Payload", raw(b"optional"))])), ("Payload", raw(&block))]);
    let body = map(&[("Job", job)]);
    assert_eq!(
        shown(4, &body),
        r#"{"Job":{"ParameterizedJob":{"Payload":"optional"},"Payload":"aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8="}}"#
    );
    assert_eq!(hidden(4, &body), r##"{"Job":{"ParameterizedJob":{"Payload":"optional"},"Payload":"[Payload#1]"}}"##);
}

#[test]
fn a_payload_that_claims_to_be_huge_is_shown_as_it_is() {
    let block = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, b'x'];
    assert_eq!(decompressed(&block), Cow::Borrowed(&block[..]));
}

#[test]
fn batch_deregisters_name_their_jobs_as_nomads_tool_does_and_keep_their_evals() {
    let key = |ns: &str, id: &str| map(&[("ID", raw(id.as_bytes())), ("Namespace", raw(ns.as_bytes()))]);
    let mut jobs = vec![0x82];
    for id in ["web.old", "api"] {
        jobs.extend(key("default", id));
        jobs.extend(map(&[("Purge", vec![0xc3])]));
    }
    let evals = list(&[map(&[("ID", raw(b"e1"))])]);
    let body = map(&[("AuthToken", raw(b"")), ("Evals", evals), ("Jobs", jobs), ("Region", NIL.to_vec())]);
    assert_eq!(
        shown(26, &body),
        r#"{"AuthToken":"","Evals":[{"ID":"e1"}],"Jobs":{"default.api":{"Purge":true},"default.web.old":{"Purge":true}},"Region":null}"#
    );
}

#[test]
fn keys_of_any_kind_are_printed() {
    let mut body = vec![0x85];
    for key in [vec![0x0a], vec![0x02], vec![0xc0], raw(&[0xff]), list(&[vec![1], raw(b"x")])] {
        body.extend(key);
        body.push(0x00);
    }
    assert_eq!(shown(70, &body), r#"{"/w==":0,"10":0,"2":0,"[1,\"x\"]":0,"null":0}"#);
}

#[test]
fn secrets_are_hidden_in_the_order_of_the_output() {
    let body = map(&[
        ("Token", map(&[("SecretID", raw(b"s1")), ("Name", raw(b"n"))])),
        ("AuthToken", raw(b"s2")),
        ("BootstrapSecret", raw(b"")),
        ("Other", map(&[("AuthToken", raw(b"s1"))])),
    ]);
    assert_eq!(
        hidden(23, &body),
        r##"{"AuthToken":"[AuthToken#1]","BootstrapSecret":"","Other":{"AuthToken":"[AuthToken#2]"},"Token":{"Name":"n","SecretID":"[AuthToken#2]"}}"##
    );
}

#[test]
fn an_unreadable_body_writes_nothing() {
    let whole = map(&[("AuthToken", raw(b"secret")), ("B", list(&[vec![1], vec![2]]))]);
    for cut in 0..whole.len() {
        let mut out = b"before".to_vec();
        let mut redactor = Redactor::hiding();
        assert!(BodyWriter::new().command(4, &whole[..cut], &mut redactor, &mut out).is_err());
        assert_eq!(out, b"before");
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused_and_does_not_overflow() {
    let mut deep = vec![0x91; 1_000_000];
    deep.push(0xc0);
    assert!(matches!(written(4, &deep, Redactor::hiding()), Err(DecodeError::Depth { .. })));
    let mut maps = Vec::new();
    for _ in 0..100_000 {
        maps.extend([0x81, 0xa1, b'k']);
    }
    maps.push(0xc0);
    assert!(matches!(written(4, &maps, Redactor::hiding()), Err(DecodeError::Depth { .. })));
}

#[test]
fn entries_without_a_body_print_none() {
    let mut writer = BodyWriter::new();
    let mut redactor = Redactor::hiding();
    let mut out = Vec::new();
    assert_eq!(writer.record(LogType::Noop, b"", &mut redactor, &mut out), Ok(false));
    assert_eq!(writer.record(LogType::Command, &[10], &mut redactor, &mut out), Ok(false));
    assert_eq!(writer.record(LogType::Command, b"", &mut redactor, &mut out), Err(DecodeError::Eof { at: 0 }));
    assert!(out.is_empty());
    let peers = list(&[raw(b"10.0.0.1:4647"), raw(b"10.0.0.2:4647")]);
    assert_eq!(writer.record(LogType::AddPeerDeprecated, &peers, &mut redactor, &mut out), Ok(true));
    assert_eq!(out, br#"["10.0.0.1:4647","10.0.0.2:4647"]"#);
}

proptest::proptest! {
    #[test]
    fn any_bytes_give_json_or_an_error(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200), kind in 0u8..128) {
        for redactor in [Redactor::hiding(), Redactor::showing()] {
            if let Ok(json) = written(kind, &bytes, redactor) {
                serde_json::from_str::<serde_json::Value>(&json).unwrap();
            }
        }
    }
}
