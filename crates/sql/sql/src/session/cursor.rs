//! Cursors: DECLARE, FETCH, MOVE and CLOSE. A SCROLL cursor keeps the rows that it has passed.

use super::portal::{Portal, send};
use super::prepared::Given;
use super::{Outcome, Session, Sink};
use crate::context::row_bytes;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog;
use crate::types::Row;
use std::ops::Range;
use syntax::ast::Statement;
use syntax::{Declare, Fetch, Parsed, Rows};

/// Where a cursor stands, and the rows that a SCROLL cursor has passed.
#[derive(Default)]
pub(super) struct Place {
    /// Number of the row that it is on, from 1; 0 before the first, one more than there are after the last.
    at: usize,
    /// Whether it has found that there are no more rows.
    has_ended: bool,
    passed: Option<Passed>,
}

#[derive(Default)]
struct Passed {
    rows: Vec<Row>,
    bytes: usize,
}

impl Place {
    /// Before the first row of a SCROLL cursor.
    fn that_scrolls() -> Place {
        Place { passed: Some(Passed::default()), ..Place::default() }
    }

    /// Returns whether the cursor may move backward.
    pub(super) fn scrolls(&self) -> bool {
        self.passed.is_some()
    }

    /// Bytes of the rows that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.passed.as_ref().map_or(0, |passed| passed.bytes)
    }

    /// Counts rows that went to the client, or nowhere, and are not kept.
    pub(super) fn advance(&mut self, rows: u64, has_ended: bool) {
        self.at = self.at.saturating_add(usize::try_from(rows).unwrap_or(usize::MAX));
        if has_ended && !self.has_ended {
            self.at += 1;
            self.has_ended = true;
        }
    }

    /// The rows to leave out and those to show, for a cursor that moves forward only.
    ///
    /// # Errors
    /// 55000 if it would have to move backward.
    fn forward(&self, rows: Rows) -> Result<(u64, Option<u64>)> {
        let is_on_row = self.at > 0 && !self.has_ended;
        let target = match rows {
            Rows::Forward(Some(0)) | Rows::Relative(0) if !is_on_row => return Ok((0, Some(0))),
            Rows::Forward(count) if count != Some(0) => return Ok((0, count)),
            Rows::Absolute(0) if self.at == 0 => return Ok((0, Some(0))),
            Rows::Absolute(number) => usize::try_from(number).ok(),
            Rows::Relative(distance) => usize::try_from(distance).ok().map(|distance| self.at.saturating_add(distance)),
            _ => None,
        };
        match target {
            Some(target) if target > self.at => Ok(((target - self.at - 1) as u64, Some(1))),
            _ => {
                let message = "cursor can only scan forward";
                Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .hint("Declare it with SCROLL option to enable backward scan."))
            }
        }
    }
}

/// Rows that a FETCH shows, by their numbers, and where the cursor stands afterwards.
struct Travel {
    shown: Range<usize>,
    is_backward: bool,
    to: usize,
}

/// Finds the rows. `pass` passes rows until there are so many, or no more, and returns how many there are.
fn travel(rows: Rows, at: usize, mut pass: impl FnMut(usize) -> Result<usize>) -> Result<Travel> {
    let count_of = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let nothing = |to| Travel { shown: 0..0, is_backward: false, to };
    let mut one = |number: usize| -> Result<Travel> {
        let there = pass(number)?;
        Ok(match number <= there {
            true => Travel { shown: number..number + 1, is_backward: false, to: number },
            false => nothing(there + 1),
        })
    };
    match rows {
        Rows::Forward(Some(0)) | Rows::Backward(Some(0)) | Rows::Relative(0) => match at {
            0 => Ok(nothing(0)),
            at => one(at),
        },
        Rows::Forward(count) => {
            let last = count.map_or(usize::MAX, |count| at.saturating_add(count_of(count)));
            let there = pass(last)?;
            let to = if last <= there { last } else { there + 1 };
            Ok(Travel { shown: at + 1..(last.min(there) + 1).max(at + 1), is_backward: false, to })
        }
        Rows::Backward(count) => {
            let to = count.map_or(0, |count| at.saturating_sub(count_of(count)));
            Ok(Travel { shown: to.max(1)..at.max(1), is_backward: true, to })
        }
        Rows::Absolute(number) => match usize::try_from(number) {
            Ok(0) => Ok(nothing(0)),
            Ok(number) => one(number),
            Err(_) => {
                let from_end = count_of(number.unsigned_abs());
                match (pass(usize::MAX)? + 1).saturating_sub(from_end) {
                    0 => Ok(nothing(0)),
                    number => Ok(Travel { shown: number..number + 1, is_backward: false, to: number }),
                }
            }
        },
        Rows::Relative(distance) => {
            let length = count_of(distance.unsigned_abs());
            match if distance < 0 { at.saturating_sub(length) } else { at.saturating_add(length) } {
                0 => Ok(nothing(0)),
                number => one(number),
            }
        }
    }
}

impl Session {
    /// DECLARE with the parameters that its query has in the extended protocol.
    pub(super) fn declare(&mut self, parsed: &Parsed, declared: &Declare, (types, values): Given<'_>) -> Result<()> {
        let Declare { name, query, hold, scroll } = declared;
        if !hold && !self.in_any_block() {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        if *scroll && matches!(&**query, Statement::Query(query) if !query.locks.is_empty()) {
            let message = "DECLARE SCROLL CURSOR ... FOR UPDATE is not supported";
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
            return Err(error.detail("Scrollable cursors must be READ ONLY."));
        }
        if self.portals.contains_key(name) {
            return Err(SqlError::new(state::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        self.check_room()?;
        self.open_implicit(false);
        let prepared = self.prepare(parsed.inner_rows(), types.iter().copied().map(Some).collect())?;
        prepared.check_values(values)?;
        let mut portal = Portal::new(prepared, values.to_vec(), *hold);
        portal.count_parameters(&self.database)?;
        // It sees the state of this moment, whenever its rows are fetched.
        self.start(&mut portal)?;
        if *scroll {
            portal.place = Place::that_scrolls();
        }
        self.enter_portal(name, portal);
        Ok(())
    }

    pub(super) fn fetch(&mut self, fetch: &Fetch, sink: &mut dyn Sink) -> Result<Outcome> {
        let mut portal = self.portal_named("cursor", &fetch.cursor)?;
        // A held cursor has its rows, but names of object identifiers are still to be looked up.
        self.open_implicit(true);
        // A failed cursor cannot be used any more.
        let count = self.fetch_from(&mut portal, fetch, sink)?;
        self.portals.insert(fetch.cursor.clone(), portal);
        let word = if fetch.rows_wanted { "FETCH" } else { "MOVE" };
        self.complete(&format!("{word} {count}"), sink);
        Ok(Outcome::Done)
    }

    fn fetch_from(&mut self, portal: &mut Portal, fetch: &Fetch, sink: &mut dyn Sink) -> Result<u64> {
        if fetch.rows_wanted
            && let Some(fields) = &portal.prepared.fields
        {
            sink.fields(fields)?;
        }
        if portal.scrolls() {
            return self.scroll(portal, fetch.rows, fetch.rows_wanted.then_some(sink));
        }
        let (left_out, count) = portal.place.forward(fetch.rows)?;
        self.skip_rows(portal, Some(left_out))?;
        match fetch.rows_wanted {
            true => Ok(self.send_rows(portal, count, sink)?.0),
            false => self.skip_rows(portal, count),
        }
    }

    /// Moves a SCROLL cursor, and sends the rows on its way to a sink. Returns how many there are.
    pub(super) fn scroll(&mut self, portal: &mut Portal, rows: Rows, sink: Option<&mut dyn Sink>) -> Result<u64> {
        let travel = travel(rows, portal.place.at, |number| self.pass_rows(portal, number))?;
        portal.place.at = travel.to;
        if let Some(sink) = sink {
            self.send_passed(portal, &travel, sink)?;
        }
        Ok(travel.shown.len() as u64)
    }

    /// Keeps rows until there are so many, or no more. Returns how many there are.
    fn pass_rows(&mut self, portal: &mut Portal, number: usize) -> Result<usize> {
        loop {
            let there = portal.place.passed.as_ref().map_or(0, |passed| passed.rows.len());
            if there >= number || portal.place.has_ended {
                return Ok(there);
            }
            let row = self.next_row(portal)?;
            let Some((row, passed)) = row.zip(portal.place.passed.as_mut()) else {
                portal.place.has_ended = true;
                continue;
            };
            let bytes = row_bytes(&row);
            if let Some(memory) = &mut portal.memory {
                memory.take(bytes)?;
            }
            passed.bytes += bytes;
            passed.rows.push(row);
        }
    }

    fn send_passed(&mut self, portal: &Portal, travel: &Travel, sink: &mut dyn Sink) -> Result<()> {
        let named = self.announce(portal, sink);
        let Some(passed) = &portal.place.passed else { return Ok(()) };
        let before = self.awaited();
        let (mut exec, log) = self.exec_and_log(&portal.parameters)?;
        let mut numbers = travel.shown.clone();
        let mut next = || {
            let number = if travel.is_backward { numbers.next_back() } else { numbers.next() };
            let mut row = number.map(|number| passed.rows[number - 1].clone());
            pg_catalog::print_names(&mut exec.names(), &named, row.as_deref_mut())?;
            Ok(row.map(|row| (row, before.max(exec.transaction.rests_on()))))
        };
        send(&mut next, None, log, sink)?;
        Ok(())
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<&'static str> {
        match name {
            None => {
                self.portals.clear();
                Ok("CLOSE CURSOR ALL")
            }
            Some(name) => {
                self.portal_named("cursor", name)?;
                Ok("CLOSE CURSOR")
            }
        }
    }
}
