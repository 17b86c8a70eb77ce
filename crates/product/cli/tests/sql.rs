//! `seriatim sql`: statements and files without a server.

mod common;

use common::{Directory, seriatim};
use std::io::Write;
use std::process::Stdio;

#[test]
fn the_command_runs_statements_and_files_and_says_how_it_went() {
    let directory = Directory::new("sql");
    let data = directory.path().to_str().unwrap();
    let run = |arguments: &[&str], input: &str| {
        let mut command = seriatim();
        command.args(["sql", "--data", data]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let script = "CREATE TABLE t (a int PRIMARY KEY, b text);\nCOPY t FROM STDIN;\n1\tone\n2\ttwo\n\\.\n\
                  SELECT * FROM t\n  ORDER BY a;\n";
    let (code, out, err) = run(&["--format", "unaligned", "-f", "-"], script);
    assert_eq!((code, out.as_str(), err), (0, "1|one\n2|two\n", format!("new database in {data}\n")));
    let (code, out, _) = run(&["-c", "SELECT a, b FROM t WHERE a = 1"], "");
    assert_eq!((code, out.as_str()), (0, " a |  b  \n---+-----\n 1 | one \n(1 row)\n\n"));
    let (_, out, _) = run(&["-c", "SELECT a, b, a > 1 AS c, NULL AS d FROM t", "--format", "json"], "");
    assert_eq!(out, "[{\"a\":1,\"b\":\"one\",\"c\":false,\"d\":null},{\"a\":2,\"b\":\"two\",\"c\":true,\"d\":null}]\n");
    let (_, out, _) = run(&["-c", "TABLE t", "--format", "csv"], "");
    assert_eq!(out, "a,b\n1,one\n2,two\n");
    let (code, out, err) = run(&["--format", "unaligned"], "SELECT 1; SELECT x;\nSELECT 2;\n");
    assert_eq!((code, out.as_str()), (1, "1\n"), "the first error ends it");
    assert!(err.contains("42703") && err.contains("LINE 1: SELECT x;\n               ^"), "{err}");
    let (code, out, _) = run(&["--format", "unaligned", "--keep-going"], "SELECT x;\nSELECT 2;\n");
    assert_eq!((code, out.as_str()), (1, "2\n"));
}
