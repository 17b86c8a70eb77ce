//! Programs that a test needs and the machine may lack.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

/// Returns whether `program` is installed. If it is missing, reports `what` as skipped ([`skip`]).
pub fn has(program: &str, what: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{program} is missing"), what);
    }
    found
}

/// Reports on standard error that `what` is skipped, and why.
///
/// # Panics
/// In continuous integration (`CI` is set), where every test must run.
pub fn skip(why: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}, and {what} must not be skipped in continuous integration");
    say(&format!("skipped: {what}, since {why}"));
}

/// Writes a line to standard error that tests which pass show, too: `eprintln!` would be captured.
pub fn say(line: &str) {
    // The reader of the output may be gone.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns the first output of `program --version`; empty if the program is missing.
pub fn version(program: impl AsRef<OsStr>) -> String {
    let output = Command::new(program).arg("--version").output();
    output.map_or_else(|_| String::new(), |output| text(&output.stdout).trim_end().to_owned())
}

/// Returns output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// psql that connects to a port, without decoration and start-up file.
pub fn psql(port: u16) -> Command {
    let mut command = Command::new("psql");
    command.args([
        "-X",
        "-A",
        "-t",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        "127.0.0.1",
        "-U",
        "postgres",
        "-d",
        "postgres",
    ]);
    command.args(["-p", &port.to_string()]);
    command
}
