//! Scans: the edges to whoever wrote a key that a scan did not see.

use super::edges::{Edges, Kind, Node};
use super::facts::{Facts, Install};
use super::reads::{Found, Read, Scan};
use crate::Model;
use crate::history::{Event, KeyId};

/// Stretches of keys that a scan covered, and of which it saw none.
pub(super) struct Ranges {
    gaps: Vec<Gap>,
    keys: usize,
}

/// The ranks `low..high`, none of which the transaction's scan saw, and none of which the transaction wrote.
#[derive(Clone, Copy, Debug)]
struct Gap {
    transaction: u32,
    low: u32,
    high: u32,
}

impl Ranges {
    pub(super) fn new(facts: &Facts, scans: &[Scan]) -> Self {
        let mut gaps = Vec::new();
        let mut written = Vec::new();
        let mut writer = None;
        for scan in scans {
            if writer != Some(scan.transaction) {
                writer = Some(scan.transaction);
                collect_written(facts, scan.transaction, &mut written);
            }
            add_gaps(facts, scan, &written, &mut gaps);
        }
        Ranges { gaps, keys: facts.history.key_count() }
    }

    /// Adds a read for each key in a gap that was deleted at some time and may have lived while the scan's transaction ran: real time
    /// then narrows down which absence was found. All other absences are covered by [`Ranges::connect`], or real time alone.
    pub(super) fn single_out_absences(&self, facts: &Facts, model: Model, reads: &mut Vec<Read>) {
        if model != Model::Strict || self.gaps.is_empty() {
            return;
        }
        let lives = KeyLifetimes::new(facts);
        for gap in &self.gaps {
            let transaction = facts.transaction(gap.transaction);
            let during = (transaction.start_ns, transaction.end_ns);
            lives.for_each_overlap(gap.low, gap.high, during, |key| {
                reads.push(Read {
                    key,
                    transaction: gap.transaction,
                    found: Found::Absent,
                    version: None,
                    missed_by_scan: true,
                });
            });
        }
    }

    /// Connects each gap with whom the finders of absent keys in it precede, through a binary tree of stand-ins over all keys.
    pub(super) fn connect(&self, after_absence: &[Option<Node>], edges: &mut Edges) {
        if self.gaps.is_empty() {
            return;
        }
        let keys = self.keys;
        let first = edges.stand_ins(2 * keys);
        let node = |place: usize| first + place as Node;
        let mut leads_on = vec![false; 2 * keys];
        for (key, after) in after_absence.iter().enumerate() {
            if let Some(after) = *after {
                leads_on[keys + key] = true;
                edges.add(node(keys + key), after, Some(KeyId(key as u32)), Kind::ON);
            }
        }
        for place in (1..keys).rev() {
            for child in [2 * place, 2 * place + 1] {
                if leads_on[child] {
                    leads_on[place] = true;
                    edges.add(node(place), node(child), None, Kind::ON);
                }
            }
        }
        for gap in &self.gaps {
            let (mut low, mut high) = (keys + gap.low as usize, keys + gap.high as usize);
            let mut lead_to = |place: usize| {
                if leads_on[place] {
                    edges.add(gap.transaction, node(place), None, Kind::PREDICATE_RW);
                }
            };
            while low < high {
                if low % 2 == 1 {
                    lead_to(low);
                    low += 1;
                }
                if high % 2 == 1 {
                    high -= 1;
                    lead_to(high);
                }
                low /= 2;
                high /= 2;
            }
        }
    }
}

fn collect_written(facts: &Facts, transaction: u32, written: &mut Vec<KeyId>) {
    written.clear();
    let events = facts.history.events(facts.transaction(transaction)).iter();
    written.extend(events.filter_map(|event| match *event {
        Event::Write { key, .. } | Event::Delete { key, .. } => Some(key),
        _ => None,
    }));
    written.sort_unstable();
    written.dedup();
}

fn add_gaps(facts: &Facts, scan: &Scan, written: &[KeyId], gaps: &mut Vec<Gap>) {
    let seen = facts.history.entries(scan.entries).iter().map(|&(key, _)| key);
    let mut seen = seen.peekable();
    let mut written = written.iter().copied().peekable();
    let mut low = scan.low;
    while low < scan.high {
        while seen.next_if(|key| key.0 < low).is_some() {}
        while written.next_if(|key| key.0 < low).is_some() {}
        let stop = [seen.peek(), written.peek()].into_iter().flatten().min();
        let high = stop.map_or(scan.high, |key| key.0.min(scan.high));
        if low < high {
            gaps.push(Gap { transaction: scan.transaction, low, high });
        }
        low = high + 1;
    }
}

/// The keys that were deleted at some time, ordered, with the time in which they may have been present; in blocks of powers of two, so
/// that keys without overlap are passed over together.
struct KeyLifetimes {
    keys: Vec<KeyId>,
    /// Binary tree over the keys: earliest beginning and latest end below each node; leaves in the upper half.
    spans: Vec<(u64, u64)>,
    leaves: usize,
}

impl KeyLifetimes {
    fn new(facts: &Facts) -> Self {
        let all = (0..facts.history.key_count() as u32).map(KeyId);
        let (keys, lives): (Vec<KeyId>, Vec<(u64, u64)>) = all
            .filter(|key| !facts.doubtful[key.index()])
            .filter_map(|key| Some((key, life(facts, facts.installs.of(key))?)))
            .unzip();
        let leaves = keys.len().next_power_of_two();
        let mut spans = vec![(u64::MAX, 0); 2 * leaves];
        spans[leaves..leaves + lives.len()].copy_from_slice(&lives);
        for place in (1..leaves).rev() {
            let (left, right) = (spans[2 * place], spans[2 * place + 1]);
            spans[place] = (left.0.min(right.0), left.1.max(right.1));
        }
        KeyLifetimes { keys, spans, leaves }
    }

    fn for_each_overlap(&self, low: u32, high: u32, during: (u64, u64), mut see: impl FnMut(KeyId)) {
        let low = self.keys.partition_point(|key| key.0 < low);
        let high = self.keys.partition_point(|key| key.0 < high);
        if low < high {
            self.visit(1, 0, self.leaves, (low, high), during, &mut see);
        }
    }

    fn visit(
        &self,
        node: usize,
        start: usize,
        width: usize,
        range: (usize, usize),
        during: (u64, u64),
        see: &mut impl FnMut(KeyId),
    ) {
        let apart = start >= range.1 || start + width <= range.0;
        let (begin, end) = self.spans[node];
        if apart || begin > during.1 || end < during.0 {
            return;
        }
        if width == 1 {
            return see(self.keys[start]);
        }
        let half = width / 2;
        self.visit(2 * node, start, half, range, during, see);
        self.visit(2 * node + 1, start + half, half, range, during, see);
    }
}

/// From the first start of a writer to when the key was certainly gone for good; `None` for keys never deleted.
fn life(facts: &Facts, installs: &[Install]) -> Option<(u64, u64)> {
    installs.iter().find(|install| install.value.is_none())?;
    let times = |install: &Install| facts.transaction(install.transaction);
    let begin = installs.iter().map(|install| times(install).start_ns).min()?;
    let last = installs.iter().max_by_key(|install| times(install).start_ns)?;
    let is_alone = installs
        .iter()
        .filter(|install| install.transaction != last.transaction)
        .all(|install| times(install).end_ns < times(last).start_ns);
    let gone = last.value.is_none() && is_alone;
    Some((begin, if gone { times(last).end_ns } else { u64::MAX }))
}
