//! Two tables: files that may contain `unsafe`, and paths of other crates that are closed to some folders.

/// A file, or a folder with everything below it, that may say `unsafe`, and the reason.
pub struct Room {
    /// Relative to the repository's root; one `*` stands for any part of a file's name.
    pub path: &'static str,
    /// Why safe Rust does not do.
    pub why: &'static str,
}

/// The only places in which the word `unsafe` may stand.
pub const UNSAFE_ROOMS: &[Room] = &[
    Room { path: "crates/base/parts/src/index.rs", why: "entries are shared by address between leaves and readers" },
    Room {
        path: "crates/base/parts/src/index/",
        why: "optimistic readers look at nodes that a writer may be changing",
    },
    Room {
        path: "crates/base/parts/src/tables.rs",
        why: "tables are found by address, by transactions that keep them from being freed",
    },
    Room { path: "crates/base/parts/src/epoch.rs", why: "what is freed later is captured by pointer" },
    Room {
        path: "crates/base/parts/tests/",
        why: "entries of the index's tests make the promises of its unsafe trait",
    },
    Room {
        path: "crates/base/parts/examples/",
        why: "entries of the index's benchmarks make the promises of its unsafe trait",
    },
    Room { path: "crates/base/env/src/clock/tsc.rs", why: "the CPU's time stamp counter is read by an intrinsic" },
    Room { path: "crates/engines/mvto/src/store*.rs", why: "versions are reached by pointer under an epoch guard" },
    Room {
        path: "crates/engines/mvto/src/sites/lane.rs",
        why: "whoever is in a lane has what it keeps to itself, without a mutex",
    },
    Room { path: "crates/engines/mvto/src/store/", why: "versions are reached by pointer under an epoch guard" },
    Room {
        path: "crates/engines/mvto/tests/loom_home.rs",
        why: "loom's cells, which fail when two threads access them at once, are accessed by pointer",
    },
    Room {
        path: "crates/engines/hyper/src/node.rs",
        why: "index entries are shared by address between an index and the slots of blocks",
    },
    Room {
        path: "crates/engines/hyper/src/tables.rs",
        why: "tables are found by address, by transactions that keep them from being freed",
    },
    Room {
        path: "crates/engines/hyper/src/table.rs",
        why: "index entries that leave the index are freed through the epoch",
    },
    Room {
        path: "crates/engines/bohm/src/version.rs",
        why: "a version and its row are one allocation, written by the thread that executes its producer",
    },
    Room {
        path: "crates/engines/bohm/src/record.rs",
        why: "records are shared by address between an index and planners",
    },
    Room {
        path: "crates/engines/bohm/src/call.rs",
        why: "whoever executes a call has its job to itself, without a mutex",
    },
    Room {
        path: "crates/engines/bohm/src/execute.rs",
        why: "whoever executes a call has its job to itself, without a mutex",
    },
    Room { path: "crates/engines/bohm/src/pool.rs", why: "versions are pieces of chunks of memory" },
    Room { path: "crates/engines/bohm/src/store.rs", why: "records are put into an index by address" },
    Room {
        path: "crates/engines/bohm/src/plan.rs",
        why: "versions and records that nobody can reach any more are freed",
    },
    Room { path: "crates/engines/bohm/src/lib.rs", why: "what is left is freed when the engine ends" },
    Room {
        path: "crates/engines/silo/src/record.rs",
        why: "a record, its row and its key are one allocation, copied by words while a writer changes it",
    },
    Room {
        path: "crates/engines/silo/src/store.rs",
        why: "tables and records are reached by address while a transaction is open",
    },
    Room { path: "crates/engines/silo/src/reclaim.rs", why: "records that nobody can reach any more are freed" },
    Room {
        path: "crates/engines/hekaton/src/record.rs",
        why: "a version and its row are one allocation; records and versions are reached by address",
    },
    Room {
        path: "crates/engines/hekaton/src/store.rs",
        why: "tables and records are reached by address while a transaction is open",
    },
    Room {
        path: "crates/engines/hekaton/src/reclaim.rs",
        why: "versions and records that nobody can reach any more are freed",
    },
    Room {
        path: "crates/engines/twopl/src/record.rs",
        why: "a record, its row and its key are one allocation, which its lock guards",
    },
    Room {
        path: "crates/engines/twopl/src/store.rs",
        why: "tables and records are reached by address while a transaction keeps them",
    },
    Room {
        path: "crates/product/cli/src/allocator.rs",
        why: "an allocator's blocks are raw, and its trait is unsafe to implement",
    },
    Room {
        path: "crates/engines/mvto/src/gc.rs",
        why: "versions below the bound are taken out of their chain and recycled",
    },
];

/// A path of the standard library, or of the parser of SQL, that some folders may not name outside their tests.
pub struct ClosedPath {
    /// Segments from the crate on: `std::fs`. `core` and `alloc` spellings are separate rows.
    pub path: &'static str,
    /// Paths below it that stay open: values, not doors.
    pub except: &'static [&'static str],
    /// Folders to which it is closed.
    pub to: &'static [&'static str],
    /// Folders and files below those of `to` in which it stays open.
    pub not: &'static [&'static str],
    /// Path to name instead, and the reason.
    pub instead: &'static str,
}

const ENGINES: &[&str] = &["crates/engines/"];
/// The tests of engines, as a library: it runs on real threads.
const CONFORMANCE: &[&str] = &["crates/engines/conformance/"];
const LOG: &[&str] = &["crates/base/wal/"];
const ENGINES_AND_LOG: &[&str] = &["crates/engines/", "crates/base/wal/"];

/// What turns text into the syntax tree.
const PARSER_FACING: &[&str] = &[
    "crates/sql/syntax/src/carried.rs",
    "crates/sql/syntax/src/command.rs",
    "crates/sql/syntax/src/depth.rs",
    "crates/sql/syntax/src/dialect.rs",
    "crates/sql/syntax/src/keywords.rs",
    "crates/sql/syntax/src/lib.rs",
    "crates/sql/syntax/src/lower/",
    "crates/sql/syntax/src/missing.rs",
    "crates/sql/syntax/src/reader.rs",
    "crates/sql/syntax/src/rewrite.rs",
    "crates/sql/syntax/src/translate.rs",
];

const SYNC: &str = "import it from parts::sync, so that loom and shuttle can stand in";

/// The closed paths.
pub const CLOSED_PATHS: &[ClosedPath] = &[
    // The doors name the standard library's Arc, and loom and shuttle its error of a poisoned mutex.
    ClosedPath {
        path: "std::sync",
        except: &["std::sync::Arc", "std::sync::Weak", "std::sync::PoisonError", "std::sync::LockResult"],
        to: ENGINES,
        not: CONFORMANCE,
        instead: SYNC,
    },
    ClosedPath { path: "core::sync", except: &[], to: ENGINES, not: CONFORMANCE, instead: SYNC },
    ClosedPath { path: "alloc::sync", except: &[], to: ENGINES, not: CONFORMANCE, instead: SYNC },
    ClosedPath { path: "std::thread", except: &[], to: ENGINES, not: CONFORMANCE, instead: SYNC },
    ClosedPath {
        path: "std::thread",
        except: &[],
        to: LOG,
        not: &[],
        instead: "spawn through env, so that the simulator can schedule it",
    },
    ClosedPath {
        path: "std::fs",
        except: &[],
        to: ENGINES_AND_LOG,
        not: CONFORMANCE,
        instead: "reach the disk through env, so that the simulator can fail it",
    },
    ClosedPath {
        path: "std::net",
        except: &[],
        to: ENGINES_AND_LOG,
        not: CONFORMANCE,
        instead: "reach the network through env, so that the simulator can fail it",
    },
    ClosedPath {
        path: "std::time",
        except: &["std::time::Duration"],
        to: ENGINES_AND_LOG,
        not: CONFORMANCE,
        instead: "read the clock through env, so that the simulator can stall it and step it",
    },
    ClosedPath {
        path: "sqlparser",
        except: &[],
        to: &["crates/sql/"],
        not: PARSER_FACING,
        instead: "name the nodes of syntax::ast, and let crate::lower or the reader make them",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_has_its_reason() {
        assert!(UNSAFE_ROOMS.iter().all(|room| room.why.len() > 10 && room.path.starts_with("crates/")));
    }

    #[test]
    fn every_closed_path_says_what_to_do() {
        assert!(CLOSED_PATHS.iter().all(|closed| closed.instead.len() > 10 && !closed.to.is_empty()));
    }
}
