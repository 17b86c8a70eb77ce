//! Lists: every read is a prefix of the longest, which shows the order of all appends that were seen.

use super::loose::{Loose, Member};
use super::{KeyJudge, kinds};
use crate::cycles::edges::Kind;
use crate::cycles::reads::{Found, Read};
use crate::history::{KeyId, Span, ValueId};
use crate::report::{Anomaly, Finding};

/// The longest read of a list.
struct Longest<'a> {
    elements: &'a [ValueId],
    /// By element: its writer, if it took effect.
    writers: Vec<Option<u32>>,
    /// By length of a prefix: the first writer of what follows it.
    next: Vec<Option<u32>>,
}

impl KeyJudge<'_> {
    pub(super) fn connect_list(&mut self, key: KeyId, reads: &[Read]) {
        let history = self.facts.history;
        let spans = || reads.iter().filter_map(|read| Some((read, list_of(read)?)));
        let longest = spans().max_by_key(|(_, span)| history.elements(*span).len());
        let longest = match longest {
            Some((reader, span)) => self.resolve(key, reader.transaction, history.elements(span)),
            None => Longest { elements: &[], writers: Vec::new(), next: vec![None] },
        };
        let loose = self.connect_appends(key, &longest);
        for (read, span) in spans() {
            let elements = history.elements(span);
            if longest.elements.starts_with(elements) {
                self.connect_list_read(key, read, elements, &longest, &loose);
            } else {
                self.report_incompatible(key, read.transaction, elements, &longest);
            }
        }
    }

    /// Finds the writers of the longest read's elements; reports elements that should not be there.
    fn resolve<'b>(&mut self, key: KeyId, reader: u32, elements: &'b [ValueId]) -> Longest<'b> {
        let mut sorted = elements.to_vec();
        sorted.sort_unstable();
        if let Some([value, _]) = sorted.array_windows().find(|[a, b]| a == b) {
            self.report(
                Anomaly::DuplicateElement,
                reader,
                None,
                |reader, _, pair| format!("{reader} read a list that has an element twice: {pair}"),
                key,
                *value,
            );
        }
        let mut writers = Vec::with_capacity(elements.len());
        for &value in elements {
            writers.push(self.writer_of(key, value, reader));
        }
        let mut next = vec![None; elements.len() + 1];
        for place in (0..elements.len()).rev() {
            next[place] = writers[place].or(next[place + 1]);
        }
        Longest { elements, writers, next }
    }

    /// Connects the writers in the order of their appends, then those whose appends nobody saw.
    fn connect_appends(&mut self, key: KeyId, longest: &Longest) -> Loose {
        let writers: Vec<u32> = longest.writers.iter().copied().flatten().collect();
        for &[earlier, later] in writers.array_windows() {
            self.edges.add(earlier, later, Some(key), Kind::WW);
        }
        self.check_program_order(key, longest);
        let mut seen = longest.elements.to_vec();
        seen.sort_unstable();
        let is_seen = |value: Option<ValueId>| value.is_some_and(|v| seen.binary_search(&v).is_ok());
        let installs = self.facts.installs.of(key).iter();
        let unseen = installs.filter(|install| !is_seen(install.value));
        let members = unseen.map(|install| Member {
            start_ns: self.facts.transaction(install.transaction).start_ns,
            transaction: install.transaction,
        });
        let loose = Loose::new(key, members.collect(), self.edges);
        if let Some(&last) = writers.last() {
            self.lead_to_loose(last, &loose, Kind::WW);
        }
        loose
    }

    /// Reports a transaction whose appends stand in another order than it made them, or with one missing before another.
    fn check_program_order(&mut self, key: KeyId, longest: &Longest) {
        let facts = self.facts;
        let history = facts.history;
        let mut place = 0;
        while let Some(&writer) = longest.writers.get(place) {
            let run = longest.writers[place..].iter().take_while(|w| **w == writer);
            let end = place + run.count();
            if let Some(writer) = writer {
                let events = history.events(facts.transaction(writer)).iter();
                let appended = events.filter_map(|event| match *event {
                    crate::history::Event::Append { key: k, value } if k == key => Some(value),
                    _ => None,
                });
                let shown = &longest.elements[place..end];
                if !appended.take(shown.len()).eq(shown.iter().copied()) {
                    self.findings.add(|| Finding {
                        anomaly: Anomaly::Internal,
                        transactions: vec![facts.transaction(writer).id],
                        explanation: format!(
                            "the appends of T{} to list {} stand there in another order than it made them, or not all of them together",
                            facts.transaction(writer).id,
                            history.key(key)
                        ),
                        steps: Vec::new(),
                    });
                }
            }
            place = end;
        }
    }

    fn connect_list_read(&mut self, key: KeyId, read: &Read, elements: &[ValueId], longest: &Longest, loose: &Loose) {
        let (wr, rw) = kinds(read);
        let length = elements.len();
        let before = longest.writers[..length].iter().rev().copied().flatten().next();
        if let Some(writer) = before {
            self.edges.add(writer, read.transaction, Some(key), wr);
        }
        let last = elements.last().and_then(|&value| self.facts.write_of(key, value));
        if let Some(last) = last
            && !last.is_last
            && Some(last.transaction) == before
            && last.transaction != read.transaction
        {
            self.report_intermediate(key, last.value, read.transaction, last.transaction);
        }
        match longest.next[length] {
            Some(next) if Some(next) == before => {}
            Some(next) => self.edges.add(read.transaction, next, Some(key), rw),
            None => self.lead_to_loose(read.transaction, loose, rw),
        }
    }

    fn lead_to_loose(&mut self, from: u32, loose: &Loose, kind: Kind) {
        let start_ns = self.facts.transaction(from).start_ns;
        loose.lead_to(self.edges, from, start_ns, 0, kind);
    }

    /// Reports two list reads that cannot both be prefixes of one list; and, of the shorter, elements that should not be there.
    fn report_incompatible(&mut self, key: KeyId, reader: u32, elements: &[ValueId], longest: &Longest) {
        let history = self.facts.history;
        let id = self.facts.transaction(reader).id;
        let same = elements.iter().zip(longest.elements).take_while(|(a, b)| a == b).count();
        self.findings.add(|| Finding {
            anomaly: Anomaly::IncompatibleOrder,
            transactions: vec![id],
            explanation: format!(
                "T{id} read list {} with {} as element {}, where a longer read has {}",
                history.key(key),
                history.value(elements[same]),
                same + 1,
                history.value(longest.elements[same])
            ),
            steps: Vec::new(),
        });
        for &value in &elements[same..] {
            self.writer_of(key, value, reader);
        }
    }
}

fn list_of(read: &Read) -> Option<Span> {
    match read.found {
        Found::List(span) => Some(span),
        Found::Absent | Found::Value(_) => None,
    }
}
