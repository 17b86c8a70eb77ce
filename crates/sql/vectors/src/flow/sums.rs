//! Aggregates of which a source adds up the columns itself, where its rows lie.

use super::shared::{Crew, Step};
use super::{Added, Flow, Host, Origin, Stop};
use crate::aggregate::{Grouping, Groups};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Flow {
    /// Lets the source add up its columns, if nothing else is asked of its rows; `None` if it is, or if the source does not add up.
    pub(super) fn sum<H: Host>(
        &self,
        host: &mut H,
        grouping: &Arc<Grouping>,
    ) -> Option<Result<Vec<Groups>, Stop<H::Error>>> {
        let Origin::Source(source) = self.origin else { return None };
        if !self.course.stages.is_empty() || !grouping.is_of_sums() {
            return None;
        }
        let (course, start) = (&self.course, || Groups::new(grouping.clone(), None));
        let crew = Crew::new(host, course.held, &start);
        let mut all = Vec::new();
        let read = host.sum(source, &course.columns, &mut |next| {
            all = crew.work(&|groups: &mut Groups| {
                let Some(Added { sums, others }) = next()? else { return Ok(Step::Ended) };
                // Relaxed: a count that is read when all threads have ended.
                course.counter.fetch_add(sums.rows, Ordering::Relaxed);
                groups.add_sums(&sums)?;
                if let Some(piece) = others {
                    groups.add(&course.decoded(piece)?)?;
                }
                Ok(Step::Done(Some(groups.memory())))
            })?;
            Ok(())
        })?;
        Some(read.map(|()| all))
    }
}
