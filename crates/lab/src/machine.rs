//! What a row of figures says about where it was measured.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Memory of this process that is in RAM, in bytes; `None` where the operating system does not say.
///
/// Source: `VmRSS` of Linux's `/proc/self/status`, which `/proc/self/statm` gives in pages.
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?;
    Some(kibibytes.trim().parse::<u64>().ok()? * 1024)
}

/// Cores that this process may use.
pub fn cores() -> usize {
    env::thread::available_parallelism().map_or(1, usize::from)
}

/// The commit of the repository that this program was built in, if it is still there, with a `+` if files have changed
/// since.
pub fn commit() -> Option<String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if is_changed { commit + "+" } else { commit })
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_process_uses_memory_and_a_core() {
        assert!(super::cores() >= 1);
        if cfg!(target_os = "linux") {
            assert!(super::resident_bytes().is_some_and(|bytes| bytes > 100_000));
        }
    }
}
