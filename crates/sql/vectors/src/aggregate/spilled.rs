//! Groups of which some rows were written away.

use super::{Grouping, Groups};
use crate::batch::Batch;
use crate::spill::{Part, Spilling, Stored};
use pgtypes::{Error, Result, state};
use std::collections::VecDeque;
use std::sync::Arc;

/// The groups of all rows, one part of the keys after the other.
pub struct SpilledGroups {
    grouping: Arc<Grouping>,
    spilling: Spilling,
    /// Groups of several threads, of which rows may be in the parts, too.
    held: Option<Groups>,
    ready: VecDeque<Batch>,
    parts: Vec<Rest>,
}

/// Rows that belong together: they have all rows of their groups, but for those in `held`.
struct Rest {
    parts: Vec<Part>,
    /// How many times they were divided.
    level: u32,
    /// Their part of the groups that are held.
    held: Option<usize>,
}

impl SpilledGroups {
    /// The groups that some threads have made. One thread's groups have all their rows; those of several are mergeable.
    pub fn new(groups: Vec<Groups>, spilling: Spilling) -> Result<SpilledGroups> {
        let is_one = groups.len() == 1;
        let mut all: Option<Groups> = None;
        let mut parts: Vec<Rest> = Vec::new();
        for mut groups in groups {
            let others = groups.others.take().map_or(Ok(Vec::new()), |others| others.finish())?;
            for (number, part) in others.into_iter().enumerate() {
                if number == parts.len() {
                    parts.push(Rest { parts: Vec::new(), level: 1, held: (!is_one).then_some(number) });
                }
                parts[number].parts.push(part);
            }
            match &mut all {
                Some(all) => all.merge(groups)?,
                None => all = Some(groups),
            }
        }
        let Some(all) = all else { return Err(Error::new(state::INTERNAL_ERROR, "groups are missing")) };
        let grouping = all.grouping.clone();
        let (ready, held) = if is_one { (all.finish()?.into(), None) } else { (VecDeque::new(), Some(all)) };
        Ok(SpilledGroups { grouping, spilling, held, ready, parts })
    }

    /// Makes the groups of some rows.
    fn work_on(&mut self, rest: Rest) -> Result<()> {
        let mut groups = Groups::at(self.grouping.clone(), Some(self.spilling.clone()), rest.level);
        if let (Some(held), Some(number)) = (&self.held, rest.held) {
            groups.merge(held.part(number))?;
        }
        for part in rest.parts {
            part.batches().try_for_each(|batch| groups.add(&batch?))?;
        }
        if let Some(others) = groups.others.take() {
            let level = rest.level + 1;
            let parts = others.finish()?.into_iter().filter(|part| !part.is_empty());
            self.parts.extend(parts.map(|part| Rest { parts: vec![part], level, held: None }));
        }
        self.ready = groups.finish()?.into();
        Ok(())
    }
}

impl Stored for SpilledGroups {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(rest) = self.parts.pop() else { return Ok(None) };
            self.work_on(rest)?;
        }
    }
}

impl Groups {
    /// Returns whether rows were written away.
    pub fn is_spilled(&self) -> bool {
        self.others.is_some()
    }
}
