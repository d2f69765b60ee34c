use super::*;

fn outputs(code: &str, input: &str) -> Result<Vec<String>, Error> {
    let program = Program::compile(code, |_| {}).unwrap_or_else(|e| panic!("{code}: {e}"));
    let mut got = Vec::new();
    program.run(Value::parse(input.as_bytes()).unwrap(), |v| {
        let mut json = Vec::new();
        v.write_json(&mut json);
        got.push(String::from_utf8(json).unwrap());
        Ok(())
    })?;
    Ok(got)
}

fn refused(code: &str) -> CompileError {
    Program::compile(code, |_| {}).expect_err(code)
}

#[test]
fn numbers_keep_their_digits_and_objects_their_order() {
    let json = r#"{"z":9007199254740993,"a":18446744073709551615,"m":1.50,"b":-0.1e-7}"#;
    assert_eq!(outputs(".", json).unwrap(), [json]);
}

#[test]
fn computed_numbers_print_as_in_jq() {
    assert_eq!(
        outputs("6 / 2, 7 / 2, nan, -1 * infinite", "null").unwrap(),
        ["3", "3.5", "null", "-1.7976931348623157e308"]
    );
}

#[test]
fn numbers_that_are_no_json_print_as_json() {
    let code = r#"00.0, -007.50, 00e2, (["+1.5", "-1.0", "+2"][] | tonumber), ("[+0.5,{\"a\":+0.5}]" | fromjson)"#;
    let wanted = ["0.0", "-7.50", "0e2", "1.5", "-1.0", "2", r#"[0.5,{"a":0.5}]"#];
    assert_eq!(outputs(code, "null").unwrap(), wanted);
    assert_eq!(outputs(r#"-("+1.5" | tonumber) | floor"#, "null").unwrap(), ["-2"]);
    // An error ends the parse; what is caught is not told for ever.
    assert_eq!(outputs(r#""1 nan" | [fromjson?]"#, "null").unwrap(), ["[1]"]);
    assert!(outputs("5 | fromjson", "null").unwrap_err().to_string().contains("string"));
    assert!(outputs(r#""nan" | fromjson"#, "null").unwrap_err().to_string().contains("cannot parse \"nan\" as JSON"));
}

#[test]
fn the_filter_of_the_investigation_runs_unchanged() {
    let filter = r#".[] | select(.CommandType == "JobRegisterRequestType") | select(.Body.Job.ParentID == "X") | [.Term, .Index, .Body.Job.Status]"#;
    let rows = r#"[{"LogType":"LogNoop","Term":2,"Index":1},
        {"Term":3,"Index":2,"CommandType":"JobRegisterRequestType","Body":{"Job":{"ParentID":"X","Status":"running"}}},
        {"Term":3,"Index":3,"CommandType":"JobRegisterRequestType","Body":{"Job":null}}]"#;
    assert_eq!(outputs(filter, rows).unwrap(), [r#"[3,2,"running"]"#]);
}

#[test]
fn only_what_sees_each_row_alone_is_streamed() {
    for code in
        [".[]", ".[] | .a", ".[].a | .b, .[0]", " # why\n.[] | select(.a) | length", ".[].a[].b", ".[] | def f: 1; f"]
    {
        assert!(Program::compile(code, |_| {}).unwrap().streams_rows(), "{code}");
    }
    for code in [
        ".",
        "length",
        ".[], .[0]",
        "(.[] | .a), length",
        ".[] as $x | .[0]",
        "def f: 1; .[] | f",
        ".[] + 1",
        ".[0]",
        ".[][length]",
        ".[1:] | .[]",
        "reduce .[] as $x (0; . + 1)",
        "[.[] | .a]",
        ".[] |= 1",
        "label $x | .[] | break $x",
        "first(.[])",
        "try (.[] | .a)",
        ". | .[]",
    ] {
        assert!(!Program::compile(code, |_| {}).unwrap().streams_rows(), "{code}");
    }
}

#[test]
fn streaming_yields_what_the_whole_document_does() {
    let rows = ["1", r#"{"a":[1,2]}"#, r#"{"a":[]}"#, "null", r#""s""#];
    let whole = format!("[{}]", rows.join(","));
    for code in [".[] | .a?[]?", ".[] | ., 1 | tostring", ".[]", ".[] | select(type == \"object\") | .a | length, ."] {
        let program = Program::compile(code, |_| {}).unwrap();
        assert!(program.streams_rows());
        let one_by_one: Vec<String> = rows.iter().flat_map(|r| outputs(code, &format!("[{r}]")).unwrap()).collect();
        assert_eq!(outputs(code, &whole).unwrap(), one_by_one, "{code}");
    }
}

#[test]
fn errors_point_at_their_column() {
    assert_eq!(refused(".[] | )").column, 7);
    assert_eq!(
        refused(".a | lenght"),
        CompileError { line: None, column: 6, detail: "there is no filter `lenght`; did you mean `length`?".into() }
    );
    assert_eq!(refused("äöü | nope_nothing_like_it").column, 1);
    assert_eq!(refused(".a\n | map").line, Some(2));
    assert_eq!(refused("map").detail, "`map` takes 1 argument(s), not 0");
    assert_eq!(refused(".a | .b |").column, 10);
    assert_eq!(refused("\"abc").column, 5);
    assert_eq!(refused("[1, (2]").column, 7);
}

#[test]
fn there_is_no_way_out() {
    for code in [
        "env",
        "$ENV",
        "input",
        "inputs",
        "input_filename",
        "import \"a\" as a; .",
        "include \"a\"; .",
        "import \"a\" as $a; .",
    ] {
        assert!(Program::compile(code, |_| {}).is_err(), "{code}");
    }
}

#[test]
fn errors_and_halts_come_after_the_outputs_before_them() {
    let program = Program::compile(".[] | .a", |_| {}).unwrap();
    let mut seen = 0;
    let result = program.run(Value::parse(br#"[{"a":1},"x"]"#).unwrap(), |_| {
        seen += 1;
        Ok(())
    });
    assert!(matches!(result, Err(Error::Jq(_))), "{result:?}");
    assert_eq!(seen, 1);
    assert!(matches!(outputs("1, halt, 2", "null"), Err(Error::Halt(0))));
    assert!(matches!(outputs("halt_error", "null"), Err(Error::Halt(5))));
}

#[test]
fn debug_and_halt_error_speak_through_the_caller() {
    let said = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let sink = std::rc::Rc::clone(&said);
    let program = Program::compile("debug | halt_error", move |text| sink.borrow_mut().push(text.to_owned())).unwrap();
    let _ = program.run(Value::parse(br#""why""#).unwrap(), |_| Ok(()));
    assert_eq!(*said.borrow(), [r#"["DEBUG:","why"]"#, "why"]);
}

#[test]
fn rows_of_csv_and_tsv_can_be_made() {
    assert_eq!(
        outputs("@csv, @tsv", r#"[1,"a\"b",null,true,"x\ty"]"#).unwrap(),
        [r#""1,\"a\"\"b\",,true,\"x\ty\"""#, r#""1\ta\"b\t\ttrue\tx\\ty""#]
    );
    assert_eq!(outputs("IN(1, 2), INDEX(.x; .y)?, ([3] | toarray)", "2").unwrap(), ["true", "[3]"]);
}
