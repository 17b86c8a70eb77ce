//! Deadlocks: cycles of waits for advisory locks, and for rows of sessions that wait for advisory locks.

use crate::table::Table;
use crate::{Key, Mode, Others, Owner};
use std::collections::BTreeSet;
use std::task::Waker;

/// A wait in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The session that waits.
    pub owner: Owner,
    /// The lock that it waits for; `None` if it waits for a row.
    pub lock: Option<(Key, Mode)>,
    /// The session that it waits for.
    pub by: Owner,
}

impl Table {
    /// Finds a cycle of waits through a session, and takes the first request of it out of its queue.
    pub fn break_cycle(&mut self, start: Owner, others: Others<'_>) -> Vec<Waker> {
        let mut edges = Vec::new();
        if !self.reaches(start, start, others, &mut BTreeSet::new(), &mut edges) {
            return Vec::new();
        }
        let Some(first) = edges.iter().position(|edge: &Edge| edge.lock.is_some()) else { return Vec::new() };
        edges.rotate_left(first);
        self.give_up(edges[0].owner, edges)
    }

    /// Whether waits lead from `from` to `to`; then `edges` has the way. Depth is at most the number of sessions.
    fn reaches(
        &self,
        from: Owner,
        to: Owner,
        others: Others<'_>,
        seen: &mut BTreeSet<Owner>,
        edges: &mut Vec<Edge>,
    ) -> bool {
        let request = self.request(from);
        let blocking = if request.is_some() { self.blocking(from) } else { others(from) };
        for by in blocking {
            edges.push(Edge { owner: from, lock: request.map(|request| (request.key, request.mode)), by });
            if by == to || (seen.insert(by) && self.reaches(by, to, others, seen, edges)) {
                return true;
            }
            edges.pop();
        }
        false
    }
}
