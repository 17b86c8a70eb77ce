//! The machine on which a row of figures was measured.

use env::time::Instant;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The allocator of the program `lab`.
pub const ALLOCATOR: &str = if cfg!(feature = "mimalloc") { "mimalloc" } else { "the system's" };

/// Whether the compiler has optimized the program `lab`. Figures of a debug build mean nothing.
pub const BUILD: &str = if cfg!(debug_assertions) { "debug build" } else { "release build" };

/// Memory of this process that is in RAM, in bytes; `None` where the operating system does not say.
pub fn resident_bytes() -> Option<u64> {
    resident_bytes_of(std::process::id())
}

/// Memory of a process that is in RAM, in bytes; `None` if it has ended, or where the operating system does not say.
///
/// Source: `VmRSS` of Linux's `/proc/PID/status`, which `/proc/PID/statm` gives in pages.
pub fn resident_bytes_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?;
    Some(kibibytes.trim().parse::<u64>().ok()? * 1024)
}

/// Time that a process has spent on processors, in its own code and in the system's; `None` if it has ended, or where the
/// operating system does not say. It comes in steps of 10 ms: look at it over seconds.
///
/// Source: `utime` and `stime` of Linux's `/proc/PID/stat`.
pub fn cpu_time_of(process: u32) -> Option<Duration> {
    cpu_time_in(Path::new(&format!("/proc/{process}/stat")))
}

/// The same of each thread of this process but the calling one, by its number.
pub fn cpu_time_of_others() -> Option<BTreeMap<u32, Duration>> {
    let own = fs::read_link("/proc/thread-self").ok()?;
    let threads = fs::read_dir("/proc/self/task").ok()?.flatten();
    // A thread may end meanwhile.
    let times = threads.filter(|thread| own.file_name() != Some(&thread.file_name())).filter_map(|thread| {
        let number = thread.file_name().to_str()?.parse().ok()?;
        Some((number, cpu_time_in(&thread.path().join("stat"))?))
    });
    Some(times.collect())
}

fn cpu_time_in(stat: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(stat).ok()?;
    // The name stands in parentheses and may hold anything; `utime` and `stime` are fields 14 and 15, the state after it is 3.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks_long(ticks))
}

/// Time that all processes together have spent on the machine's processors; `None` where the operating system does not say.
///
/// Source: the first line of Linux's `/proc/stat`: all but idling and waiting for disks.
pub fn busy_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u64> = fields.take(8).map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, _idle, _disks, interrupts, soft_interrupts, _stolen] = ticks[..] else { return None };
    Some(ticks_long(user + nice + system + interrupts + soft_interrupts))
}

/// From so many processors that other programs used on, figures say as much about those as about what was measured.
pub const DISTURBED: f64 = 0.1;

/// Observes how much of the machine programs other than this one use.
#[derive(Clone, Copy, Debug)]
pub struct OtherPrograms {
    start: Instant,
    own: Duration,
    all: Duration,
}

impl OtherPrograms {
    /// From now on; `None` where the operating system does not say.
    pub fn observe() -> Option<OtherPrograms> {
        let own = cpu_time_of(std::process::id())?;
        Some(OtherPrograms { start: Instant::now(), own, all: busy_time()? })
    }

    /// Processors that they have used since, on average.
    pub fn cores(self) -> Option<f64> {
        let now = OtherPrograms::observe()?;
        let elapsed = (now.start - self.start).as_secs_f64();
        let of_others = (now.all.saturating_sub(self.all)).saturating_sub(now.own.saturating_sub(self.own));
        (elapsed > 0.0).then(|| of_others.as_secs_f64() / elapsed)
    }
}

/// Times in `/proc` are in units of `USER_HZ`, which is 100 a second on every architecture that Rust runs on.
fn ticks_long(ticks: u64) -> Duration {
    Duration::from_millis(ticks.saturating_mul(10))
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
            let used = super::cpu_time_of(std::process::id()).expect("this process runs");
            assert!(super::busy_time().is_some_and(|busy| busy >= used));
        }
    }
}
