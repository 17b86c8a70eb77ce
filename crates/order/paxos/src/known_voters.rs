//! The voters that a replica has met, and its refusal of those that have lost memory (P11, decision 0026).
//!
//! A replica that votes must not promise or vote again after it has lost the record of it. Four numbers identify a replica's
//! memory. It sends them in its greeting, and the others keep the greatest of each:
//!
//! | number | changes | detects |
//! | --- | --- | --- |
//! | birth | when its directory is new; without one, at each start | another memory |
//! | life | counts its starts | an earlier copy of its directory |
//! | incarnation | drawn at each start | two processes on copies of one directory |
//! | records | grows with its journal | a journal that is shorter than it was |

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::ReplicaId;
use crate::journal::{JournalError, OwnedDirectory};
use crate::membership::{Membership, Refusal};

/// Last known numbers of a voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// See [`Membership::birth`].
    pub birth: u64,
    /// See [`Membership::life`].
    pub life: u64,
    /// See [`Membership::incarnation`].
    pub incarnation: u64,
    /// See [`Membership::records`].
    pub records: u64,
}

/// Last known numbers of each voter.
pub type Notes = BTreeMap<ReplicaId, Note>;

impl Note {
    /// A voter that may have been met by an earlier version, which kept no record. No birth is 0.
    pub const UNCOUNTED: Self = Self { birth: 0, life: 0, incarnation: 0, records: 0 };

    fn of(voter: &Membership) -> Self {
        let Membership { birth, life, incarnation, records, .. } = *voter;
        Self { birth, life, incarnation, records }
    }

    /// Checks that the voter has lost nothing that this replica has recorded of it.
    fn allows(&self, voter: &Membership) -> Result<(), Refusal> {
        if *self == Self::UNCOUNTED && voter.admitted {
            return Ok(());
        }
        if self.birth != voter.birth {
            return Err(Refusal::RestartedWithoutMemory);
        }
        if voter.life < self.life {
            return Err(Refusal::EarlierLife);
        }
        if voter.life == self.life && voter.incarnation != self.incarnation {
            return Err(Refusal::SameNumber);
        }
        if voter.records < self.records { Err(Refusal::ShorterJournal) } else { Ok(()) }
    }
}

/// Why a replica is not talked to.
#[derive(Debug)]
pub enum Rejection {
    /// It must not be.
    Refused(Refusal),
    /// The meeting cannot be recorded: this replica must stop.
    NotNoted(JournalError),
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The voters that a replica has met, in this life and, with a directory, in earlier ones.
#[derive(Debug)]
pub struct KnownVoters {
    own: Membership,
    met: Notes,
    /// Directory that holds the notes.
    directory: Option<Arc<OwnedDirectory>>,
    /// Whether there are changes that are not in the directory yet.
    is_news: bool,
}

impl KnownVoters {
    /// Starts with the notes of the directory, or with none if there is no directory.
    #[must_use]
    pub fn new(own: Membership, directory: Option<Arc<OwnedDirectory>>) -> Self {
        let met = directory.as_ref().map(|directory| directory.owner().met).unwrap_or_default();
        Self { own, met, directory, is_news: false }
    }

    /// Is this the replica itself?
    #[must_use]
    pub fn is_self(&self, other: &Membership) -> bool {
        (other.id, other.incarnation) == (self.own.id, self.own.incarnation)
    }

    /// Checks whether to accept a replica, after its proof of the key. If so, the meeting is durable when this returns: the other end
    /// may depend on it.
    ///
    /// # Errors
    /// [`Rejection`].
    pub fn meet(&mut self, other: &Membership) -> Result<(), Rejection> {
        if self.is_self(other) {
            return Err(Refusal::Oneself.into());
        }
        if other.id == self.own.id {
            return Err(Refusal::SameNumber.into());
        }
        if other.id > 63 {
            return Err(Refusal::NoSuchNumber.into());
        }
        if let Some(option) = self.own.agreement.difference(&other.agreement) {
            return Err(Refusal::Disagreement(option).into());
        }
        if !other.votes() {
            return Ok(());
        }
        if let Some(known) = self.met.get(&other.id) {
            known.allows(other)?;
        }
        let note = Note::of(other);
        self.is_news |= self.met.insert(other.id, note) != Some(note);
        self.note().map_err(Rejection::NotNoted)
    }

    /// Records a voter's report of its journal's length.
    ///
    /// # Errors
    /// The journal was longer: the voter has lost records.
    pub fn update_records(&mut self, id: ReplicaId, records: u64) -> Result<(), Refusal> {
        let Some(known) = self.met.get_mut(&id) else { return Ok(()) };
        if records < known.records {
            return Err(Refusal::ShorterJournal);
        }
        self.is_news |= records > known.records;
        known.records = records;
        Ok(())
    }

    /// Writes the changes to the directory, durably.
    ///
    /// # Errors
    /// The disk fails.
    pub fn note(&mut self) -> Result<(), JournalError> {
        if let Some(directory) = &self.directory
            && self.is_news
        {
            directory.note(&self.met)?;
        }
        self.is_news = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Options;
    use crate::membership::SharedOption;

    fn membership(id: ReplicaId, incarnation: u64) -> Membership {
        Membership::new(&Options::new(3, id), incarnation)
    }

    fn known_voters() -> KnownVoters {
        KnownVoters::new(membership(0, 1), None)
    }

    fn met(known_voters: &mut KnownVoters, other: &Membership) -> Result<(), Refusal> {
        known_voters.meet(other).map_err(|rejection| match rejection {
            Rejection::Refused(refusal) => refusal,
            Rejection::NotNoted(error) => panic!("{error}"),
        })
    }

    #[test]
    fn a_voter_without_memory_is_met_in_one_life_only() {
        let mut known_voters = known_voters();
        assert_eq!(met(&mut known_voters, &membership(1, 10)), Ok(()));
        assert_eq!(met(&mut known_voters, &membership(1, 10)), Ok(()), "it reconnects");
        assert_eq!(met(&mut known_voters, &membership(1, 11)), Err(Refusal::RestartedWithoutMemory));
        let often_started = Membership { life: 9, ..membership(1, 11) };
        assert_eq!(met(&mut known_voters, &often_started), Err(Refusal::RestartedWithoutMemory), "nor later");
        let mut learner = |incarnation| met(&mut known_voters, &membership(5, incarnation));
        assert_eq!((learner(1), learner(2)), (Ok(()), Ok(())));
    }

    #[test]
    fn an_old_copy_of_a_directory_is_told_from_what_became_of_it() {
        let mut known_voters = known_voters();
        let life = |life, incarnation, records| Membership { birth: 7, life, records, ..membership(2, incarnation) };
        let mut meet = |other| met(&mut known_voters, &other);
        assert_eq!((meet(life(1, 10, 0)), meet(life(2, 11, 50))), (Ok(()), Ok(())));
        assert_eq!(meet(life(1, 10, 60)), Err(Refusal::EarlierLife), "it comes back to an earlier life");
        assert_eq!(meet(life(2, 12, 60)), Err(Refusal::SameNumber), "both copies live");
        assert_eq!(meet(life(3, 13, 49)), Err(Refusal::ShorterJournal));
        assert_eq!(meet(life(3, 13, 50)), Ok(()));
        assert_eq!((known_voters.update_records(2, 60), known_voters.update_records(2, 60)), (Ok(()), Ok(())));
        assert_eq!(
            known_voters.update_records(2, 59),
            Err(Refusal::ShorterJournal),
            "a heartbeat of a machine's snapshot"
        );
        assert_eq!(met(&mut known_voters, &life(3, 13, 59)), Err(Refusal::ShorterJournal));
    }

    #[test]
    fn whoever_was_met_before_notes_were_taken_has_voted() {
        let mut known_voters = known_voters();
        known_voters.met.insert(1, Note::UNCOUNTED);
        assert_eq!(met(&mut known_voters, &membership(1, 5)), Err(Refusal::RestartedWithoutMemory));
        let admitted = Membership { admitted: true, ..membership(1, 6) };
        assert_eq!(met(&mut known_voters, &admitted), Ok(()));
        assert_eq!(met(&mut known_voters, &membership(1, 7)), Err(Refusal::RestartedWithoutMemory));
    }

    #[test]
    fn strangers_are_refused_by_name() {
        let mut known_voters = known_voters();
        assert_eq!(met(&mut known_voters, &membership(0, 2)), Err(Refusal::SameNumber));
        assert_eq!(met(&mut known_voters, &membership(0, 1)), Err(Refusal::Oneself));
        assert_eq!(met(&mut known_voters, &membership(64, 1)), Err(Refusal::NoSuchNumber));
        let mut meet_with = |change: fn(&mut Options)| {
            let mut options = Options::new(3, 1);
            change(&mut options);
            met(&mut known_voters, &Membership::new(&options, 1))
        };
        assert_eq!(meet_with(|o| o.replicas = 5), Err(Refusal::Disagreement(SharedOption::Replicas)));
        assert_eq!(meet_with(|o| o.span = 17), Err(Refusal::Disagreement(SharedOption::Span)));
        assert_eq!(meet_with(|o| o.batch_bytes = 1), Err(Refusal::Disagreement(SharedOption::BatchBytes)));
        assert_eq!(meet_with(|o| o.sessions = 1), Err(Refusal::Disagreement(SharedOption::Sessions)));
        assert_eq!(meet_with(|o| o.suspicion *= 2), Err(Refusal::Disagreement(SharedOption::Suspicion)));
        assert_eq!(meet_with(|o| o.window = 3), Ok(()), "a leader's own affair");
    }

    #[test]
    fn the_span_that_is_compared_is_the_core_s() {
        let membership = |window| {
            let mut options = Options::new(3, 1);
            (options.batch_bytes, options.window) = (1 << 20, window);
            assert_eq!(options.check(), Ok(()));
            Membership::new(&options, 1)
        };
        let mut known_voters = KnownVoters::new(Membership { id: 0, ..membership(16) }, None);
        assert_eq!(met(&mut known_voters, &membership(16)), Ok(()));
        let wide = met(&mut known_voters, &membership(28));
        assert_eq!(wide, Err(Refusal::Disagreement(SharedOption::Span)), "so many open batches need a longer span");
    }
}
