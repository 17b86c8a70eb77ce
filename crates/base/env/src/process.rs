//! Other processes of this machine.

use std::fmt;
use std::fs;
use std::path::Path;

/// Process that holds a lock, according to the lock's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process; `None` where the file does not say.
    pub process: Option<u32>,
}

impl Holder {
    /// Returns whether it is this process.
    #[must_use]
    pub fn is_this(self) -> bool {
        self.process == Some(std::process::id())
    }

    /// Returns whether its locks may be released without a request: it is being killed, has been killed, or its state is
    /// unknown. A process with much memory takes seconds to end, and holds its locks until then.
    #[must_use]
    pub fn may_be_ending(self) -> bool {
        !self.is_this() && self.process.is_none_or(is_ending)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            _ if self.is_this() => f.write_str("this process"),
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("another process"),
        }
    }
}

impl std::error::Error for Holder {}

/// Returns whether a process exists, as far as the system reports it.
#[must_use]
pub fn is_there(process: u32) -> bool {
    let place = |process: &str| Path::new("/proc").join(process).exists();
    place(&process.to_string()) || !place("self")
}

/// Returns whether a process is ending or gone. If the system does not report it, it counts as gone.
#[must_use]
pub fn is_ending(process: u32) -> bool {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).ok();
    match (read("stat"), read("status")) {
        (Some(stat), Some(status)) => exits(&stat) || is_killed(&status),
        _ => true,
    }
}

/// Returns whether `/proc/PID/stat` reports that the process is dead or has begun to exit (Linux: `PF_EXITING`).
fn exits(stat: &str) -> bool {
    const EXITING: u64 = 0x4;
    // The second field is the program's name in parentheses, which may hold anything.
    let mut fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    let is_dead = matches!(fields.next(), Some("Z" | "X" | "x"));
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok());
    is_dead || flags.is_some_and(|flags| flags & EXITING != 0)
}

/// Returns whether `/proc/PID/status` reports a pending SIGKILL.
fn is_killed(status: &str) -> bool {
    const SIGKILL: u64 = 1 << 8;
    let pending = |name| status.lines().find_map(|line| line.strip_prefix(name));
    let is_pending = |mask: &str| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & SIGKILL != 0);
    ["SigPnd:", "ShdPnd:"].into_iter().filter_map(pending).any(is_pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_was_killed_is_ending_and_one_that_runs_is_not() {
        assert!(!is_ending(std::process::id()));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat runs");
        assert!(!is_ending(child.id()), "it waits for input");
        assert!(!Holder { process: Some(child.id()) }.may_be_ending());
        child.kill().expect("it is ours");
        assert!(is_ending(child.id()), "the signal is on its way, or has arrived; nobody has waited for it");
        child.wait().expect("it was killed");
        assert!(is_ending(child.id()), "it is gone");
        assert!(Holder { process: None }.may_be_ending(), "nobody knows");
        assert!(!Holder { process: Some(std::process::id()) }.may_be_ending());
    }

    #[test]
    fn what_the_system_says_of_processes_is_understood() {
        assert!(exits("7 (a) b) R 1 7 7 0 -1 4194308 0"));
        assert!(exits("7 (x) Z 1 7 7 0 -1 4194304 0"));
        assert!(!exits("7 (x) S 1 7 7 0 -1 4194304 0"));
        assert!(is_killed("Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n"));
        assert!(!is_killed("SigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n"));
    }
}
