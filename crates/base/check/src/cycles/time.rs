//! Edges of real time: a transaction that ended before another began precedes it.

use super::edges::{Edges, Kind, Node};
use super::facts::Facts;

/// Connects the transactions through a line of stand-ins, one for each end: a transaction leads to its own end, each end to the next, and
/// the last end before a transaction's start leads to that transaction. So the edges are linear in number, where the pairs are not.
pub(super) fn connect(facts: &Facts, edges: &mut Edges) {
    let mut ends: Vec<(u64, Node)> = facts
        .effective()
        .map(|index| (facts.transaction(index).end_ns, index))
        .filter(|&(end, _)| end != u64::MAX)
        .collect();
    ends.sort_unstable();
    let first = edges.stand_ins(ends.len());
    let stand_in = |place: usize| first + place as Node;
    for (place, &(_, index)) in ends.iter().enumerate() {
        edges.add(index, stand_in(place), None, Kind::TIME);
        if place + 1 < ends.len() {
            edges.add(stand_in(place), stand_in(place + 1), None, Kind::ON);
        }
    }
    for index in facts.effective() {
        let start = facts.transaction(index).start_ns;
        let before = ends.partition_point(|&(end, _)| end < start);
        if before > 0 {
            edges.add(stand_in(before - 1), index, None, Kind::ON);
        }
    }
}
