//! The second judge: cycles of dependencies, ignoring the claimed serial points.
//!
//! From what the transactions read and wrote follows which of them must precede which in any serial order. A cycle of such edges means
//! that no serial order exists. The work is done in five steps, one module each:
//!
//! 1. `facts`: who took effect; what each transaction read from others (not from itself), and what it left behind on each key. Reads that
//!    no order could explain (of aborted or intermediate writes, of values nobody wrote, self-contradictions) are findings at once.
//! 2. `order`: per key, the order of its versions as far as it can be known, and from it the edges: *ww* (overwrote), *wr* (read from),
//!    *rw* (read what the other overwrote).
//! 3. `ranges`: the edges of scans to whoever wrote a key that the scan did not see.
//! 4. `time`: for [`Model::Strict`], the edges of real time.
//! 5. `search`: strongly connected components, in each the most telling cycle, and (`explain`) its story.
//!
//! # The order of a key's versions
//! - A list shows it: every list read is a prefix of the longest; appends that no read saw come after all that were seen.
//! - A register's stated versions show it, when every write states one.
//! - Otherwise a transaction that read one version and wrote another put the second directly after the first. Following such steps from
//!   the initial absence gives a *chain*; all other versions, the *loose* ones, come after the chain's end. Among loose versions only
//!   such direct steps and, with [`Model::Strict`], the real time of their writers are known.
//!
//! An absence names its version only if it states it or if there is just one candidate (the initial absence and each delete are
//! candidates). Otherwise the reader comes after the first possible candidate and before whatever overwrote the last possible one.
//!
//! # Invariants
//! - C1. Every edge holds in every legal serial order, on the assumption that there is one; so a cycle refutes it.
//! - C2. Edges to many transactions go through stand-in nodes (of a key's loose versions, of ranges, of points in time), so the graph is
//!   about linear in the history. Stand-ins alone form no cycle, and never lead a transaction back to itself alone.

mod edges;
mod explain;
mod facts;
mod order;
mod ranges;
mod reads;
mod search;
mod time;

use crate::Model;
use crate::history::History;
use crate::report::Judgement;
use edges::Edges;

/// Looks for reads that no order explains and for dependency cycles.
pub fn judge(history: &History, model: Model) -> Judgement {
    let facts = facts::Facts::gather(history);
    let mut observed = reads::observe(&facts);
    let ranges = ranges::Ranges::new(&facts, &observed.scans);
    ranges.single_out_absences(&facts, model, &mut observed.reads);

    let mut edges = Edges::new(history.transactions().len());
    let orders = order::connect(&facts, observed.reads, model, &mut edges, &mut observed.findings);
    ranges.connect(&orders.after_absence, &mut edges);
    if model == Model::Strict {
        time::connect(&facts, &mut edges);
    }
    let count = edges.len();
    let graph = edges.into_graph();
    search::find_cycles(&facts, &graph, &orders.bases, &mut observed.findings);
    Judgement::of(observed.findings, count)
}
