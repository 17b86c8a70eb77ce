//! Memory limit of this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes that this process may have: the least of the machine's memory, the limits of its control groups, and the limit on its
/// addresses (`ulimit -v`). Where none of them can be read, 4 GiB. Looked up once.
pub fn memory() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| read(Path::new("/")))
}

/// Assumed where the system does not report the size.
const UNKNOWN: u64 = 4 << 30;

fn read(root: &Path) -> u64 {
    let machine = text(root, "proc/meminfo").and_then(|text| machine_bytes(&text));
    let addresses = text(root, "proc/self/limits").and_then(|text| address_bytes(&text));
    let groups = text(root, "proc/self/cgroup").and_then(|text| group_bytes(root, &text));
    machine.into_iter().chain(addresses).chain(groups).min().unwrap_or(UNKNOWN)
}

fn text(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join(path)).ok()
}

/// `MemTotal:       24536144 kB`
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// `Max address space         900000000            unlimited            bytes`
fn address_bytes(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The least limit of the process's groups and of those around them. Each line is `number:controllers:/path`; the second
/// version of control groups has no controllers in it.
fn group_bytes(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let group = PathBuf::from(path.trim_start_matches('/'));
        // In a container the path may be that outside of it; its own limits are then at the mount.
        group.ancestors().filter_map(|group| text(&root.join(mount).join(group), file)).collect()
    });
    limits.filter_map(|limit| limit.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_some() {
        assert!(memory() > 1 << 20, "{}", memory());
    }

    #[test]
    fn the_least_limit_counts() {
        let root = std::env::temp_dir().join(format!("seriatim-memory-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        assert_eq!(read(&root), UNKNOWN);
        write("proc/meminfo", "MemFree: 7 kB\nMemTotal:       2048 kB\n");
        assert_eq!(read(&root), 2 << 20);
        write(
            "proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax address space  unlimited  unlimited  bytes\n",
        );
        assert_eq!(read(&root), 2 << 20);
        write("proc/self/limits", "Max address space         2000000              unlimited            bytes\n");
        assert_eq!(read(&root), 2_000_000);
        write("proc/self/cgroup", "0::/a/b\n3:memory,other:/c\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        write("sys/fs/cgroup/a/memory.max", "1500000\n");
        assert_eq!(read(&root), 1_500_000);
        write("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1400000\n");
        assert_eq!(read(&root), 1_400_000);
        fs::remove_dir_all(&root).expect("the folder goes");
    }
}
