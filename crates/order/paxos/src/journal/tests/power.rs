//! The power goes at every change of the disk: what was reported durable is found again, and nothing but a prefix.

use super::*;

/// State of the journal as reported to a life, and the compactions requested.
#[derive(Clone, Debug, Default)]
struct Acknowledged {
    /// Records are numbered from 1 over all lives.
    appended: u64,
    durable: u64,
    /// Records up to here may have been replaced by a marker.
    compactions: Vec<u64>,
}

/// Stands for the first `up_to` records.
fn marker(up_to: u64) -> Vec<Record> {
    vec![Record::Ballot(1 << 40), Record::Install(up_to, Image::from(vec![1; 1_500]))]
}

impl Acknowledged {
    fn append(&mut self, journal: &mut Journal, count: u64) -> Result<(), JournalError> {
        for _ in 0..count {
            // Counted first: what fails in the middle may be there.
            self.appended += 1;
            journal.append(&record(self.appended))?;
        }
        Ok(())
    }

    fn sync(&mut self, journal: &Journal) -> Result<(), JournalError> {
        journal.sync()?;
        self.durable = self.appended;
        Ok(())
    }

    /// Replaces all but the last `keep` records.
    fn compact(&mut self, journal: &Journal, keep: u64) -> Result<(), JournalError> {
        self.compactions.push(self.appended - keep);
        journal.compact(journal.appended() - keep, marker(self.appended - keep))?;
        self.durable = self.appended;
        Ok(())
    }

    /// Returns the number of records recovered: a prefix of those appended that contains all durable ones.
    fn check(&self, found: &[Record], context: &str) -> u64 {
        let (replaced, rest) = match found {
            [Record::Ballot(first), Record::Install(up_to, _), rest @ ..] if *first == 1 << 40 => {
                assert!(self.compactions.contains(up_to), "{context}: {up_to}");
                assert_eq!(found[..2], marker(*up_to), "{context}");
                (*up_to, rest)
            }
            all => (0, all),
        };
        let last = replaced + rest.len() as u64;
        assert_eq!(rest, records(replaced + 1..=last), "{context}");
        assert!(self.durable <= last && last <= self.appended, "{context}: {last} of {self:?}");
        last
    }
}

/// Two lives with appends, syncs and compactions.
fn live(disk: &SimDisk, acknowledged: &mut Acknowledged) -> Result<(), JournalError> {
    let (mut journal, found) = open(disk)?;
    acknowledged.check(&found, "at first");
    for round in 0..3 {
        acknowledged.append(&mut journal, 6)?;
        acknowledged.sync(&journal)?;
        acknowledged.append(&mut journal, 5)?;
        acknowledged.compact(&journal, round)?;
    }
    acknowledged.append(&mut journal, 2)?;
    journal.close()?;
    acknowledged.durable = acknowledged.appended;

    let (mut journal, found) = open(disk)?;
    acknowledged.check(&found, "after a close");
    acknowledged.append(&mut journal, 7)?;
    acknowledged.sync(&journal)?;
    drop(journal);

    let (mut journal, found) = open(disk)?;
    acknowledged.check(&found, "after a crash of the process");
    acknowledged.append(&mut journal, 3)?;
    acknowledged.compact(&journal, 1)?;
    acknowledged.append(&mut journal, 2)?;
    acknowledged.sync(&journal)
}

#[test]
fn at_every_change_whatever_the_disk_keeps() {
    let whole = disk(0);
    live(&whole, &mut Acknowledged::default()).unwrap();
    let changes = whole.changes();
    assert!(changes > 100, "a life worth cutting");
    let mut cut = 0;
    for change in 0..changes {
        for seed in 0..4 {
            let disk = disk(seed);
            disk.cut_power_at(change);
            let mut acknowledged = Acknowledged::default();
            live(&disk, &mut acknowledged).expect_err("the power was cut");
            for survival in [Survival::Random, Survival::SyncedOnly, Survival::Everything] {
                let context = format!("seed {seed}, change {change} of {changes}, {survival:?}");
                let disk = disk.power_cut_with(survival);
                cut += u32::from(lives_on(&disk, &mut acknowledged.clone(), &context));
            }
        }
    }
    assert!(cut > 10, "only {cut} recoveries found a torn tail");
}

/// Opens what is left and lives on; says whether a torn tail was cut off.
fn lives_on(disk: &SimDisk, acknowledged: &mut Acknowledged, context: &str) -> bool {
    let (mut journal, found) = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    acknowledged.appended = acknowledged.check(&found, context);
    acknowledged.durable = acknowledged.appended;
    acknowledged.append(&mut journal, 5).unwrap();
    acknowledged.sync(&journal).unwrap();
    let (_, again) = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
    assert_eq!(acknowledged.check(&again, context), acknowledged.appended);
    journal.report().cut.is_some()
}
