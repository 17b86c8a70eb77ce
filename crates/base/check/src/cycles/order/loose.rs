//! The versions that are only known to come after the end of a key's chain.

use crate::cycles::edges::{Edges, Kind, Node};
use crate::history::KeyId;

/// Members that a transaction in their middle is connected with one by one; see [`Loose::lead_to`].
const ONE_BY_ONE: usize = 32;

/// One loose version's writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) start_ns: u64,
    pub(super) transaction: u32,
}

/// A key's loose versions, ordered by the start of their writers.
///
/// Stand-ins let one edge reach all members from some place on (*suffix*) or up to some place (*prefix*).
#[derive(Debug)]
pub(super) struct Loose {
    key: KeyId,
    members: Vec<Member>,
    suffixes: Node,
    prefixes: Node,
}

impl Loose {
    pub(super) fn new(key: KeyId, mut members: Vec<Member>, edges: &mut Edges) -> Self {
        members.sort_unstable_by_key(|member| (member.start_ns, member.transaction));
        let count = members.len();
        let stand_ins = if count > 1 { count } else { 0 };
        let loose = Loose { key, members, suffixes: edges.stand_ins(stand_ins), prefixes: edges.stand_ins(stand_ins) };
        for place in 0..stand_ins {
            if place + 1 < count {
                loose.lead_on(edges, loose.suffix(place), loose.writer(place));
                loose.lead_on(edges, loose.suffix(place), loose.suffix(place + 1));
            }
            if place > 0 {
                loose.lead_on(edges, loose.prefix(place), loose.writer(place));
                loose.lead_on(edges, loose.prefix(place), loose.prefix(place - 1));
            }
        }
        loose
    }

    fn lead_on(&self, edges: &mut Edges, from: Node, to: Node) {
        edges.add(from, to, Some(self.key), Kind::ON);
    }

    fn writer(&self, place: usize) -> Node {
        self.members[place].transaction
    }

    /// Leads to all members from `place` on.
    fn suffix(&self, place: usize) -> Node {
        if place + 1 == self.members.len() {
            return self.writer(place);
        }
        self.suffixes + place as Node
    }

    /// Leads to all members up to `place`.
    fn prefix(&self, place: usize) -> Node {
        if place == 0 {
            return self.writer(place);
        }
        self.prefixes + place as Node
    }

    /// Leads to all members, if there are any.
    pub(super) fn all(&self) -> Option<Node> {
        (!self.members.is_empty()).then(|| self.suffix(0))
    }

    /// The place of the first member whose writer started after `time_ns`.
    pub(super) fn started_after(&self, time_ns: u64) -> usize {
        self.members.partition_point(|member| member.start_ns <= time_ns)
    }

    /// Connects `from` with all members from place `first` on, except itself.
    ///
    /// A transaction that is a member itself, of a place above `first`, where `first` is not 0, is connected one by one with those
    /// between, and only with the [`ONE_BY_ONE`] that started first: in a correct history hardly more overlap with it in time.
    pub(super) fn lead_to(&self, edges: &mut Edges, from: Node, from_start_ns: u64, first: usize, kind: Kind) {
        let key = Some(self.key);
        let count = self.members.len();
        let by_start = |member: &Member| (member.start_ns, member.transaction);
        let own = self.members.binary_search_by_key(&(from_start_ns, from), by_start);
        match own {
            Ok(own) if own >= first => {
                if own + 1 < count {
                    edges.add(from, self.suffix(own + 1), key, kind);
                }
                if first == 0 && own > 0 {
                    edges.add(from, self.prefix(own - 1), key, kind);
                } else {
                    for place in (first..own).take(ONE_BY_ONE) {
                        edges.add(from, self.writer(place), key, kind);
                    }
                }
            }
            _ if first < count => edges.add(from, self.suffix(first), key, kind),
            _ => {}
        }
    }
}
