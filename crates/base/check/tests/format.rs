//! The text form: what it means, and a clear error for what it does not allow.

use seriatim_check::history::parse_seconds;
use seriatim_check::{Format, History, Model, command};
use std::path::Path;

fn line(id: u64, operations: &str) -> String {
    format!(r#"{{"id":{id},"p":0,"s":0.1,"e":0.2,"st":"ok","ops":[{operations}]}}"#)
}

fn error_of(text: &str) -> String {
    History::read(text.as_bytes()).expect_err(text).to_string()
}

#[test]
fn seconds_are_exact_to_the_nanosecond() {
    let cases = [
        ("0", Some(0)),
        ("-0", None),
        ("1", Some(1_000_000_000)),
        ("0.000000001", Some(1)),
        ("1e-9", Some(1)),
        ("1E+1", Some(10_000_000_000)),
        ("12.5e-1", Some(1_250_000_000)),
        ("0.0000000019", Some(1)),
        ("1763690798.123456789", Some(1_763_690_798_123_456_789)),
        ("18446744073.709551615", Some(u64::MAX)),
        ("18446744073.709551616", None),
        ("0e999999999999999999999", Some(0)),
        ("1e999999999999999999999", None),
        ("1e-999999999999999999999", Some(0)),
        ("-1", None),
        ("1.", None),
        (".5", None),
        ("1e", None),
        ("\"1\"", None),
        ("null", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_seconds(text), expected, "{text}");
    }
}

#[test]
fn each_mistake_is_named_with_its_line() {
    let cases = [
        (String::new(), "no transaction in the input"),
        ("\n  \n".to_owned(), "line 2: no transaction in the input"),
        ("\n{".to_owned(), "line 2: EOF while parsing an object"),
        ("[]".to_owned(), "line 1: "),
        (r#"{"id":1,"p":0,"s":0,"e":1,"ops":[]}"#.to_owned(), "line 1: missing field `st`"),
        (r#"{"id":1,"p":0,"s":0,"st":"ok","ops":[]}"#.to_owned(), "line 1: missing field `e`"),
        (r#"{"id":1,"p":0,"s":0,"e":1,"st":"maybe","ops":[]}"#.to_owned(), "line 1: unknown variant `maybe`"),
        (r#"{"id":1,"p":0,"s":-1,"e":1,"st":"ok","ops":[]}"#.to_owned(), "line 1: `s` is not a time in seconds: -1"),
        (
            r#"{"id":1,"p":0,"s":2,"e":1,"st":"ok","ops":[]}"#.to_owned(),
            "line 1: the transaction ends (e) before it starts (s)",
        ),
        (r#"{"id":-1,"p":0,"s":0,"e":1,"st":"ok","ops":[]}"#.to_owned(), "line 1: invalid value"),
        (format!("{}\n\n{}", line(7, ""), line(7, "")), "line 3: transaction id 7 was used before, on line 1"),
        (line(1, r#"["x",1]"#), "line 1: unknown variant `x`"),
        (line(1, "[]"), "line 1: an operation lacks an operation's letter"),
        (line(1, r#"["w",1]"#), "line 1: an operation lacks a value"),
        (line(1, r#"["w",1,null]"#), "line 1: invalid type: null"),
        (line(1, r#"["w",1.5,1]"#), "line 1: invalid type: floating point"),
        (line(1, r#"["w",1,99999999999999999999]"#), "line 1: invalid type: floating point"),
        (line(1, r#"["w",1,1,1,1]"#), "line 1: an operation with too many parts"),
        (line(1, r#"["w",1,1,0]"#), "line 1: version 0 of key 1 is its initial absence"),
        (line(1, r#"["s",2,1,[]]"#), "line 1: scan from 2 to 1"),
        (line(1, r#"["s","a",1,[]]"#), "line 1: scan from a to 1"),
        (line(1, r#"["r",1,[1],2]"#), "line 1: an operation with too many parts"),
        (
            format!("{}\n{}", line(1, r#"["w","x",1]"#), line(2, r#"["w","x",1]"#)),
            "line 2: 1 was written to key x before, on line 1",
        ),
        (
            format!("{}\n{}", line(1, r#"["w","x",1,5]"#), line(2, r#"["w","x",2,5]"#)),
            "line 2: version 5 of key x was written before, on line 1",
        ),
        (
            format!("{}\n{}", line(1, r#"["a","x",1]"#), line(2, r#"["w","x",2]"#)),
            "line 2: key x is used both as a list and as a register",
        ),
    ];
    for (text, expected) in cases {
        let error = error_of(&text);
        assert!(error.starts_with(expected), "{text}\n{error}\nexpected {expected}");
    }
}

#[test]
fn unknown_fields_and_their_depth_are_ignored() {
    let text = r#"{"x":{"y":[1,{"z":null}]},"id":1,"p":0,"s":0,"e":1,"st":"ok","ops":[["w","\u0061",1]],"note":1.5}"#;
    let history = History::read(text.as_bytes()).expect("a history");
    assert_eq!(history.operation_count(), 1);
    let deep = format!(r#"{{"x":{}"#, "[".repeat(100_000));
    assert!(error_of(&deep).starts_with("line 1: "));
}

/// Every prefix, and every single byte replaced, of a line with all operations: a history or an error, never a panic.
#[test]
fn damaged_lines_never_panic() {
    let text = line(1, r#"["w",1,2,3],["r","x",null,0],["d",1,9],["s",null,5,[[1,2]]],["a","l",1],["r","l",[1]]"#);
    for end in 0..text.len() {
        judge_bytes(&text.as_bytes()[..end]);
    }
    for place in 0..text.len() {
        for byte in [b'0', b'9', b'"', b'[', b']', b',', b'-', b'e', b'\\', 0, 0xff] {
            let mut damaged = text.clone().into_bytes();
            damaged[place] = byte;
            judge_bytes(&damaged);
        }
    }
}

fn judge_bytes(text: &[u8]) {
    if let Ok(history) = History::read(text) {
        for model in [Model::Serializable, Model::Strict] {
            let report = seriatim_check::judge(&history, model);
            assert!(!report.to_string().is_empty());
        }
    }
}

fn run(file: &str, format: Format) -> (i32, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories").join(file);
    let code = command(&path, Model::Strict, format, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (code, text(out), text(err))
}

#[test]
fn the_command_tells_by_its_exit_code() {
    let (code, out, err) = run("pass-serial.jsonl", Format::Text);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("ok: strict serializable\nhistory: 3 transactions (3 ok"), "{out}");
    let (code, out, _) = run("g2-item-write-skew.jsonl", Format::Text);
    assert_eq!(code, 1);
    assert!(out.contains("G2-item: "), "{out}");
    let (code, out, err) = run("no-such-file.jsonl", Format::Text);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("no-such-file.jsonl: "), "{err}");
    let (code, _, err) = run("pass-serial.txt", Format::Text);
    assert_eq!(code, 2);
    assert!(err.contains("line 1: "), "{err}");
}

#[test]
fn the_json_report_has_its_fields() {
    let (code, out, _) = run("g-single-realtime-stale-read.jsonl", Format::Json);
    assert_eq!(code, 1);
    let mut report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    for judge in ["replay", "cycles"] {
        assert!(report[judge]["elapsed_us"].take().is_u64());
        assert!(report[judge]["edges"].take().is_u64());
    }
    let expected = serde_json::json!({
        "model": "strict", "valid": false, "judges_disagree": false,
        "counts": {"transactions": 3, "committed": 3, "aborted": 0, "unknown": 0, "operations": 4, "keys": 1},
        "replay": {
            "verdict": "fail", "reason": null, "finding_count": 1, "edges": null, "elapsed_us": null,
            "findings": [{
                "anomaly": "serial-point-against-real-time", "transactions": [2, 3], "steps": [],
                "explanation": "T2 ended before T3 began, but claims serial point 3, after T3's 2",
            }],
        },
        "cycles": {
            "verdict": "fail", "reason": null, "finding_count": 1, "edges": null, "elapsed_us": null,
            "findings": [{
                "anomaly": "G-single-realtime", "transactions": [3, 2],
                "explanation": "T3 before T2 before T3 in any serial order",
                "steps": [
                    {"from": 3, "to": 2, "edge": "rw", "key": "x", "because": "T3 read x=1, which T2 overwrote with x=2: T3 before T2"},
                    {"from": 2, "to": 3, "edge": "real-time", "key": null,
                     "because": "T2 ended at 0.400000000, before T3 began at 0.500000000: T2 before T3"},
                ],
            }],
        },
    });
    assert_eq!(report, expected);
}
