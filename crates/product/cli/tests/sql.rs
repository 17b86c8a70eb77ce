//! `seriatim sql`: statements and files without a server.

mod common;

use common::{Directory, seriatim};
use std::io::Write;
use std::process::Stdio;

/// Runs the shell on a directory: its exit code, standard output and standard error.
fn shell(directory: &Directory, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = seriatim();
    command.args(["sql", "--data"]).arg(directory.path()).args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_runs_statements_and_files_and_says_how_it_went() {
    let directory = Directory::new("sql");
    let data = directory.path().to_str().unwrap();
    let run = |arguments: &[&str], input: &str| shell(&directory, arguments, input);
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

#[test]
fn psqls_commands_work_within_statements_and_without_backslash() {
    let directory = Directory::new("sql-commands");
    let made = "CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE items (a int); CREATE VIEW open AS TABLE orders; CREATE ROLE ada;";
    assert_eq!(shell(&directory, &[], made).0, 0);
    let quiet = |input: &str| {
        let (code, out, err) = shell(&directory, &["--format", "unaligned"], input);
        assert_eq!(err, "", "{input}");
        (code, out)
    };
    assert_eq!(quiet("SELECT 1;\nSELECT (2\n\\q\n);\nSELECT 3;\n"), (0, "1\n".into()));
    assert_eq!(quiet("SELECT 1;\nquit\nSELECT 2;\n"), (0, "1\n".into()));
    assert_eq!(quiet("SELECT 1;\nEXIT;\nSELECT 2;\n"), (0, "1\n".into()));
    assert_eq!(quiet("SELECT 1;\n\\q"), (0, "1\n".into()), "a last line without an end");
    let help = quiet("help\n").1;
    assert!(help.contains("\\timing") && help.lines().all(|line| line.starts_with("  ")), "{help}");
    assert!(quiet("\\h SELECT\n").1.contains("docs/sql.md"));
    assert_eq!(quiet("\\dt\n").1, "public|items|table|postgres\npublic|orders|table|postgres\n");
    assert_eq!(quiet("\\dt ord*;\n").1, "public|orders|table|postgres\n");
    assert_eq!(quiet("\\dv+ public.*\n").1, "public|open|view|postgres\n");
    assert_eq!(quiet("\\dt o_ders\n").1, "", "no wildcard of psql");
    assert!(quiet("\\l\n").1.contains("postgres|postgres|UTF8|C.UTF-8\n"));
    assert_eq!(quiet("\\du\n").1, "ada|Cannot login\npostgres|Superuser, Create role, Create DB\n");
    assert_eq!(quiet("SELECT\n\\dv\n4;\n").1, "public|open|view|postgres\n4\n", "a command within a statement");
}

#[test]
fn switches_say_what_they_became_and_errors_end_the_script() {
    let directory = Directory::new("sql-switches");
    shell(&directory, &[], "");
    let (code, out, _) = shell(&directory, &[], "\\x\nSELECT 1 AS a;\n\\x off\n\\x off\nSELECT 2 AS a;\n");
    assert_eq!(code, 0);
    let expanded = "Expanded display is on.\n-[ RECORD 1 ]-\na | 1\n(1 row)\n\n";
    let off = "Expanded display is off.\n";
    assert_eq!(out, format!("{expanded}{off}{off} a \n---\n 2 \n(1 row)\n\n"));
    let (_, out, _) = shell(&directory, &[], "\\timing on\nSELECT 1;\n\\timing\nSELECT 1;\n");
    assert!(out.starts_with("Timing is on.\n") && out.contains("Timing is off.\n"), "{out}");
    assert_eq!(out.matches("Time: ").count(), 1, "{out}");
    for (command, why) in [
        ("\\copy t from x", "unknown command \\copy"),
        ("\\x maybe", "neither on nor off"),
        ("\\f loud", "\\f: "),
        ("\\i /no/such/file", "/no/such/file: "),
        ("\\i", "missing the name"),
    ] {
        let (code, out, err) = shell(&directory, &[], &format!("{command}\nSELECT 1;\n"));
        assert_eq!((code, out.as_str()), (1, ""), "{command}");
        assert!(err.contains(why), "{err}");
    }
}
