//! The extended protocol: Parse, Bind, Describe, Execute, Close, Sync.

use super::portal::Portal;
use super::{Description, Format, Outcome, Session, Sink};
use crate::error::{Result, SqlError, state};
use crate::plan::Field;
use crate::types::{Datum, Encoding, Modifier, Scalar, Type, binary, defined, text};
use syntax::Command;

impl Session {
    /// Parse: prepares a statement; parameters of type 0 (or none) are inferred.
    ///
    /// # Errors
    /// Errors of the statement, or the name is taken.
    pub fn parse(&mut self, name: &str, sql: &str, parameters: &[u32]) -> Result<()> {
        crate::stack::ensure_statement_stack(sql.len(), || self.parse_text(name, sql, parameters))
            .map_err(|error| self.explain(error))
    }

    fn parse_text(&mut self, name: &str, sql: &str, parameters: &[u32]) -> Result<()> {
        self.begin_statement(sql);
        self.check_statement_bytes(sql)?;
        let _memory = self.reserve_parsing(sql)?;
        let parsed = syntax::statement(sql)?;
        if let Some(parsed) = &parsed {
            self.check_failed(&parsed.command)?;
        }
        let given = parameters.iter().map(|&oid| given_type(oid)).collect::<Result<_>>()?;
        if name.is_empty() {
            self.prepared.remove("");
        }
        let prepared = self.prepare(parsed, given)?;
        self.keep(name, prepared, None)
    }

    /// Describe of a statement.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn describe_statement(&mut self, name: &str) -> Result<Description> {
        Ok(self.describe(&*self.prepared_named(name)?))
    }

    /// Bind: a portal of a prepared statement with its parameters' values, whose texts are in `encoding`.
    ///
    /// # Errors
    /// Unknown statement, wrong number of parameters, malformed values.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        parameters: &[(Format, Option<&[u8]>)],
        encoding: Encoding,
    ) -> Result<()> {
        self.note_time();
        let prepared = self.prepared_named(statement)?;
        if let Some(parsed) = &prepared.parsed {
            self.check_failed(&parsed.command)?;
        }
        if parameters.len() != prepared.parameters.len() {
            let message = format!(
                "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {}",
                parameters.len(),
                prepared.parameters.len()
            );
            return Err(SqlError::new(state::PROTOCOL_VIOLATION, message));
        }
        if !portal.is_empty() {
            if self.portals.contains_key(portal) {
                let message = format!("cursor \"{portal}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_CURSOR, message));
            }
            self.check_room()?;
        }
        self.begin_message();
        if prepared.parameters.iter().any(|data_type| data_type.scalar.defined().is_some()) {
            self.look_up(|names| prepared.parameters.iter().try_for_each(|data_type| names.read_type(*data_type)))?;
        }
        let styles = self.state.styles();
        let read = |(&(format, value), &data_type): (&(Format, Option<&[u8]>), &Type)| {
            let Some(value) = value else { return Ok(Datum::Null) };
            let read = match format {
                Format::Binary => binary::receive(value, data_type, encoding),
                // A name means what it means when the statement runs: the binder looks it up there.
                Format::Text if data_type.scalar.is_reg() => {
                    let texts = Type { scalar: Scalar::Text, ..data_type };
                    text::parse(&encoding.decode(value)?, texts, Modifier::NONE, &styles)
                }
                Format::Text => text::parse(&encoding.decode(value)?, data_type, Modifier::NONE, &styles),
            };
            read.map_err(SqlError::from)
        };
        let values = parameters.iter().zip(&prepared.parameters).map(read).collect::<Result<_>>()?;
        let mut bound = Portal::new(prepared, values, false);
        bound.count_parameters(&self.database)?;
        if self.open.is_some() && bound.prepared.only_reads() {
            // It sees the state of now, whatever is executed before it.
            self.start(&mut bound).map_err(|error| self.explain(error))?;
        }
        self.enter_portal(portal, bound);
        Ok(())
    }

    /// Describe of a portal.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn describe_portal(&mut self, name: &str) -> Result<Option<Vec<Field>>> {
        let portal = self.portal_named("portal", name)?;
        let fields = portal.fields();
        self.portals.insert(name.to_owned(), portal);
        Ok(fields)
    }

    /// Execute: at most `max_rows` rows (0: all). `sync_follows`: the next message is Sync, so that a statement outside a
    /// transaction block may be committed, and repeated after a conflict, at once.
    ///
    /// # Errors
    /// Errors of the statement. The session then passes over everything until [`Session::sync`] (the caller does).
    pub fn execute(
        &mut self,
        portal: &str,
        max_rows: usize,
        sync_follows: bool,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        let mut running = self.portal_named("portal", portal)?;
        if running.spent {
            self.portals.insert(portal.to_owned(), running);
            let message = format!("portal \"{portal}\" cannot be run");
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let prepared = running.prepared.clone();
        let source = prepared.parsed.as_ref().map_or("", |parsed| parsed.source());
        self.begin_statement(source);
        let outcome = crate::stack::ensure_statement_stack(source.len(), || {
            self.execute_portal(&mut running, max_rows, sync_follows, sink)
        });
        running.spent = matches!(outcome, Ok(Outcome::Done)) && prepared.parsed.is_some() && prepared.fields.is_none();
        let is_over = outcome.is_err() && !running.is_held();
        if !is_over && (self.open.is_some() || running.is_held()) {
            self.portals.insert(portal.to_owned(), running);
        }
        let outcome = outcome.map_err(|error| self.explain(error)).inspect_err(|error| self.count_error(error));
        self.end_statement(sink);
        outcome
    }

    fn execute_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: usize,
        sync_follows: bool,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        let Some(parsed) = portal.prepared.parsed.clone() else {
            sink.empty();
            return Ok(Outcome::Done);
        };
        self.check_failed(&parsed.command)?;
        let may_commit = sync_follows && max_rows == 0;
        if !Session::is_over_rows(portal) {
            let (prepared, values) = (portal.prepared.clone(), portal.parameters.clone());
            let mut run = |session: &mut Session, sink: &mut dyn Sink| {
                session.run_utility(&parsed, (&prepared.parameters, &values), sink)
            };
            if may_commit || manages_itself(&parsed.command) {
                return self.run_alone_or_in_block(sink, &mut run);
            }
            self.open_implicit(false);
            return run(self, sink);
        }
        if !may_commit {
            self.open_implicit(false);
            return self.run_rows(portal, max_rows, sink);
        }
        let only_reads = portal.prepared.only_reads();
        let (prepared, parameters) = (portal.prepared.clone(), portal.parameters.clone());
        self.run_alone_or_in_block(sink, &mut |session, sink| {
            if session.open.is_none() {
                *portal = Portal::new(prepared.clone(), parameters.clone(), false);
            }
            session.open_implicit(only_reads);
            session.run_rows(portal, 0, sink)
        })
    }

    /// Close of a statement. Unknown names are fine.
    pub fn close_statement(&mut self, name: &str) {
        self.prepared.remove(name);
    }

    /// Close of a portal. Unknown names are fine.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    /// Sync: ends the implicit transaction. After an error (`failed`) it rolls back.
    ///
    /// # Errors
    /// Errors of the commit.
    pub fn sync(&mut self, failed: bool) -> Result<()> {
        let done = if failed {
            self.copy = None;
            self.fail_open();
            Ok(())
        } else {
            self.commit_implicit().map_err(|error| self.explain(error))
        };
        if self.open.is_none() {
            self.end_portals();
        }
        self.entry.cancel.set_timeout(0);
        self.show_idle();
        done
    }
}

fn given_type(oid: u32) -> Result<Option<Type>> {
    const UNKNOWN: u32 = 705;
    /// Whether such a type is there is seen when the statement is bound.
    const FIRST_DEFINED: u32 = 16_384;
    if oid == 0 || oid == UNKNOWN {
        return Ok(None);
    }
    let defined = |oid: u32| match defined::relation_of(oid) {
        Some(_) => Some(Scalar::Composite(oid)),
        None => (oid >= FIRST_DEFINED).then_some(Scalar::Enum(oid)),
    };
    let array = defined::element_of(oid).and_then(defined).map(Type::array_of);
    let found = Type::from_oid(oid).or(array).or_else(|| defined(oid).map(Type::of));
    found.map(Some).ok_or_else(|| SqlError::new(state::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist")))
}

/// Commands that begin or end transactions by themselves.
fn manages_itself(command: &Command) -> bool {
    matches!(
        command,
        Command::Begin(_)
            | Command::Commit(_)
            | Command::Rollback(_)
            | Command::SetTransaction(_)
            | Command::SetSnapshot(_)
    )
}
