//! Statements about the session itself (transactions, settings, prepared statements, cursors), and others that run without a plan.

use super::portal::{Portal, read_only};
use super::prepared::{Given, NO_PARAMETERS, Prepared};
use super::{Outcome, Session, Sink, settings};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use crate::notify::ChannelChange;
use crate::optimize::{self, Facts, Sizes};
use crate::plan::Field;
use crate::plan::Plan;
use crate::types::{Datum, Modifier, Type};
use crate::{alter, bind, catalog, ddl, exec, explain};
use std::time::Instant;
use syntax::ast::Definition;
use syntax::{Command, Discard, ExplainFormat, ExplainOptions, Modes, Parsed};

impl Session {
    /// Runs a statement that is not over rows.
    pub(super) fn run_utility(&mut self, parsed: &Parsed, given: Given<'_>, sink: &mut dyn Sink) -> Result<Outcome> {
        let tag = match &parsed.command {
            Command::Begin(modes) => {
                self.begin(*modes)?;
                self.report_isolation(modes);
                if parsed.source().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("start")) {
                    "START TRANSACTION"
                } else {
                    "BEGIN"
                }
            }
            Command::SetSnapshot(name) => {
                self.import_snapshot(name)?;
                "SET"
            }
            Command::SetTransaction(modes) => {
                self.set_transaction(*modes)?;
                self.report_isolation(modes);
                "SET"
            }
            Command::SetCharacteristics(modes) => {
                for (name, value) in [
                    ("default_transaction_read_only", modes.read_only),
                    ("default_transaction_deferrable", modes.deferrable),
                ] {
                    if let Some(on) = value {
                        self.state.set(name, if on { "on" } else { "off" }, false)?;
                    }
                }
                self.keep_settings();
                self.report_isolation(modes);
                "SET"
            }
            Command::Commit(chain) => self.commit_block(*chain)?,
            Command::Rollback(chain) => {
                self.roll_back_block(*chain)?;
                "ROLLBACK"
            }
            Command::Savepoint(name) => {
                self.savepoint(name)?;
                "SAVEPOINT"
            }
            Command::Release(name) => {
                self.release(name)?;
                "RELEASE"
            }
            Command::RollbackTo(name) => {
                self.roll_back_to(name)?;
                "ROLLBACK"
            }
            Command::Set(setting) => {
                self.set(&setting.name, setting.value.as_deref(), setting.local)?;
                "SET"
            }
            Command::Reset(name) => {
                match name {
                    Some(name) => self.set(name, None, false)?,
                    None => self.state.settings.reset_all(),
                }
                self.state.follow_settings();
                self.keep_settings();
                "RESET"
            }
            Command::Show(name) => return self.show(name.as_deref(), sink),
            Command::Discard(what) => self.discard(*what)?,
            Command::SetConstraints(names, deferred) => {
                if !self.in_any_block() {
                    let warning = "SET CONSTRAINTS can only be used in transaction blocks";
                    self.state.notices.push(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, warning));
                }
                self.open_implicit(false);
                crate::dml::set_constraints(&mut self.exec(&[])?, names, *deferred)?;
                "SET CONSTRAINTS"
            }
            Command::Prepare(name, types, statement) => {
                let given = self.parameter_types(types)?;
                let prepared = self.prepare(Some((**statement).clone()), given)?;
                self.keep(name, prepared, Some(parsed.source()))?;
                "PREPARE"
            }
            Command::Execute(name, arguments) => return self.execute_prepared(name, arguments, sink),
            Command::Deallocate(name) => self.deallocate(name.as_deref())?,
            Command::Declare(declared) => {
                self.declare(parsed, declared, given)?;
                "DECLARE CURSOR"
            }
            Command::Fetch(fetch) => return self.fetch(fetch, sink),
            Command::Close(name) => self.close_cursor(name.as_deref())?,
            Command::Explain { options, statement } => {
                return self.explain_statement(*options, statement, given, sink);
            }
            Command::Copy(copy) => return self.start_copy(copy, sink),
            Command::Checkpoint => {
                self.database.store.checkpoint()?;
                "CHECKPOINT"
            }
            Command::Listen(channel) => {
                self.change_channels(ChannelChange::Listen(channel.clone()))?;
                "LISTEN"
            }
            Command::Unlisten(channel) => {
                self.change_channels(ChannelChange::Unlisten(channel.clone()))?;
                "UNLISTEN"
            }
            Command::Notify(channel, payload) => {
                self.notify(channel, payload)?;
                "NOTIFY"
            }
            Command::Accepted(tag) => {
                if *tag == "LOAD" {
                    let warning = "LOAD has no effect: the server has no modules";
                    self.state.notices.push(SqlError::new(state::WARNING, warning));
                }
                tag
            }
            Command::Definition(definition, warnings) => {
                let warnings = warnings.iter().map(|warning| SqlError::new(state::WARNING, warning.as_str()));
                self.state.notices.extend(warnings);
                return self.define(definition, sink);
            }
            Command::Rows(_) => {
                return Err(SqlError::new(state::INTERNAL_ERROR, "a statement over rows is planned first"));
            }
        };
        self.complete(tag, sink);
        Ok(Outcome::Done)
    }

    /// The columns of the answer of a statement that is not over rows.
    pub(super) fn utility_fields(&mut self, parsed: &Parsed) -> Result<Option<Vec<Field>>> {
        Ok(match &parsed.command {
            Command::Show(Some(name)) => {
                let known = settings::find(name).map_or(name.as_str(), |known| known.name);
                Some(vec![text_field(known)])
            }
            Command::Show(None) => Some(["name", "setting", "description"].map(text_field).to_vec()),
            Command::Explain { options, .. } => Some(vec![explain_field(options.format)]),
            Command::Execute(name, _) => self.prepared_named(name)?.fields.clone(),
            Command::Fetch(fetch) if fetch.rows_wanted => {
                self.portals.get(&fetch.cursor).and_then(|portal| portal.fields())
            }
            _ => None,
        })
    }

    fn define(&mut self, definition: &Definition, sink: &mut dyn Sink) -> Result<Outcome> {
        let is_lock = matches!(definition, Definition::Lock(_));
        if is_lock && !self.in_any_block() {
            let message = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        let command = definition.tag();
        let is_of_database = !is_lock && !definition.is_shared();
        if is_of_database && self.database.oid == tables::TEMPLATE1 {
            return Err(SqlError::unsupported("a definition in database template1")
                .hint("New databases begin empty: create what they shall have in each of them."));
        }
        if self.define_alone(definition)? {
            self.complete(&command, sink);
            return Ok(Outcome::Done);
        }
        // A lock is no write: pg_dump takes some in its read-only transaction.
        let writes = (!is_lock).then_some(command.as_str());
        let tag = self.run_definition(writes, |change, notices| ddl::run(change, definition, notices))?;
        self.complete(&tag, sink);
        Ok(Outcome::Done)
    }

    /// `writes` names a command that read-only transactions refuse.
    fn run_definition<T>(
        &mut self,
        writes: Option<&str>,
        run: impl FnOnce(&mut Change<'_>, &mut Vec<SqlError>) -> Result<T>,
    ) -> Result<T> {
        self.open_implicit(false);
        if let Some(command) = writes.filter(|_| self.is_read_only()) {
            return Err(read_only(command));
        }
        self.freeze_cursors()?;
        let mut notices = Vec::new();
        let mut change = self.change()?;
        change.exec.transaction.set_reads_wait(writes.is_some());
        let done = run(&mut change, &mut notices);
        self.state.notices.extend(notices);
        done
    }

    fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        match (name, value) {
            ("role", Some("none")) => {}
            ("role" | "session_authorization", Some(role)) => self.check_role(role)?,
            _ => {}
        }
        if local && !self.in_any_block() {
            let warning = "SET LOCAL can only be used in transaction blocks";
            self.state.notices.push(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, warning));
        }
        if name.eq_ignore_ascii_case("transaction_read_only") {
            return self.set_read_only(name, value);
        }
        // Every level is accepted; SHOW reports the one in effect.
        let is_level = name.ends_with("transaction_isolation");
        self.state.settings.set(name, value, local)?;
        if matches!(name, "role" | "session_authorization") {
            self.show_superuser(local)?;
        }
        if is_level {
            self.state.settings.set(name, Some("serializable"), local)?;
        }
        self.state.follow_settings();
        self.keep_settings();
        Ok(())
    }

    /// Makes `is_superuser` tell of the role that is in effect.
    fn show_superuser(&mut self, local: bool) -> Result<()> {
        self.state.follow_settings();
        let user = self.state.user.clone();
        self.open_implicit(false);
        let role = self.exec(&[])?.names().role_named(&user)?;
        let is_superuser = role.is_some_and(|role| role.is_superuser);
        self.state.settings.follow("is_superuser", if is_superuser { "on" } else { "off" }, local);
        Ok(())
    }

    /// The role of SET ROLE and SET SESSION AUTHORIZATION, read in the session's transaction.
    fn check_role(&mut self, role: &str) -> Result<()> {
        self.open_implicit(false);
        match self.exec(&[])?.names().role_named(role)? {
            Some(_) => Ok(()),
            None => {
                let message = format!("role \"{role}\" does not exist");
                Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
            }
        }
    }

    /// `SET transaction_read_only` is another form of `SET TRANSACTION READ ONLY`. It has no effect outside a transaction.
    fn set_read_only(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let mark = self.state.settings.mark();
        self.state.settings.set(name, value, true)?;
        let read_only = self.state.settings.is_on("transaction_read_only");
        self.state.settings.back_to(mark);
        self.apply(Modes { isolation: None, read_only: Some(read_only), deferrable: None })
    }

    /// Outside a transaction a setting is kept at once.
    fn keep_settings(&mut self) {
        if self.open.is_none() {
            self.state.settings.commit();
            self.state.follow_settings();
        }
    }

    fn show(&mut self, name: Option<&str>, sink: &mut dyn Sink) -> Result<Outcome> {
        let text = |value: &str| Datum::Text(value.into());
        let (fields, rows) = match name {
            None => {
                let fields = ["name", "setting", "description"].map(text_field).to_vec();
                let rows = self.state.settings();
                (fields, rows.iter().map(|(name, value, about)| vec![text(name), text(value), text(about)]).collect())
            }
            Some(name) => {
                let value = self.state.setting(name).ok_or_else(|| {
                    let message = format!("unrecognized configuration parameter \"{name}\"");
                    SqlError::new(state::UNDEFINED_OBJECT, message)
                })?;
                let known = settings::find(name).map_or(name, |known| known.name);
                (vec![text_field(known)], vec![vec![text(&value)]])
            }
        };
        self.answer(&fields, rows, "SHOW", sink)
    }

    /// Sends an answer that is computed whole.
    fn answer(&mut self, fields: &[Field], rows: Vec<Vec<Datum>>, tag: &str, sink: &mut dyn Sink) -> Result<Outcome> {
        sink.fields(fields)?;
        sink.rows(fields, &self.state.styles());
        for row in rows {
            sink.row(&row)?;
            self.leave_if_full(sink)?;
        }
        self.complete(tag, sink);
        Ok(Outcome::Done)
    }

    fn discard(&mut self, what: Discard) -> Result<&'static str> {
        Ok(match what {
            Discard::All => {
                if self.open.is_some() {
                    let message = "DISCARD ALL cannot run inside a transaction block";
                    return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
                }
                self.portals.clear();
                self.prepared.clear();
                self.recent.clear();
                self.state.settings.reset_roles();
                self.state.settings.reset_all();
                self.state.follow_settings();
                self.keep_settings();
                self.forget_sequences();
                self.database.channels.leave(self.entry.process);
                self.database.advisory.unlock_all(self.entry.process, self.awaited.to_raw());
                catalog::drop_temporary(&self.database, &mut self.state)?;
                "DISCARD ALL"
            }
            Discard::Plans => {
                self.recent.clear();
                "DISCARD PLANS"
            }
            Discard::Sequences => {
                self.forget_sequences();
                "DISCARD SEQUENCES"
            }
            Discard::Temporary => {
                self.open_implicit(false);
                self.freeze_cursors()?;
                alter::drop::temporary(&mut self.change()?)?;
                "DISCARD TEMP"
            }
        })
    }

    fn forget_sequences(&mut self) {
        self.state.last_values.clear();
        self.state.last_sequence = None;
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<&'static str> {
        match name {
            None => {
                self.prepared.clear();
                Ok("DEALLOCATE ALL")
            }
            Some(name) => {
                self.prepared_named(name)?;
                self.prepared.remove(name);
                Ok("DEALLOCATE")
            }
        }
    }

    /// EXECUTE: the arguments are expressions without columns.
    fn execute_prepared(
        &mut self,
        name: &str,
        arguments: &[syntax::ast::Expr],
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        let prepared = self.prepared_named(name)?;
        let Some(parsed) = prepared.parsed.clone() else { return Ok(Outcome::Done) };
        let values = self.argument_values(name, &prepared, arguments)?;
        if !matches!(parsed.command, Command::Rows(_)) {
            return self.run_utility(&parsed, NO_PARAMETERS, sink);
        }
        if let Some(fields) = &prepared.fields {
            sink.fields(fields)?;
        }
        self.run_rows(&mut Portal::new(prepared, values, false), 0, sink)
    }

    /// The values of the parameters of a prepared statement.
    fn argument_values(
        &mut self,
        name: &str,
        prepared: &Prepared,
        arguments: &[syntax::ast::Expr],
    ) -> Result<Vec<Datum>> {
        if arguments.len() != prepared.parameters.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {}.", prepared.parameters.len(), arguments.len());
            return Err(SqlError::new(state::SYNTAX_ERROR, message).detail(detail));
        }
        self.open_implicit(prepared.only_reads());
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, &data_type) in arguments.iter().zip(&prepared.parameters) {
            let mut exec = self.exec(&[])?;
            exec.names().read_type(data_type)?;
            let wanted = Some((data_type, Modifier::NONE));
            let bound = bind::expression(&mut exec.names(), &argument.to_string(), &[], wanted)?;
            values.push(exec::evaluate(&mut exec, &bound, &[])?);
        }
        Ok(values)
    }

    /// Tells once in a session that a weaker isolation level is exceeded.
    fn report_isolation(&mut self, modes: &Modes) {
        let Some(level) = modes.isolation.filter(|level| *level != "SERIALIZABLE") else { return };
        if std::mem::replace(&mut self.isolation_reported, true) {
            return;
        }
        let message = format!("isolation level {level} runs as SERIALIZABLE");
        self.state.notices.push(
            SqlError::new("00000", message)
                .detail("Every transaction is serializable, whatever isolation level is asked for.")
                .hint("Repeat a transaction that fails with SQLSTATE 40001 from its beginning."),
        );
    }

    /// EXPLAIN of a statement with these parameters: their types and values.
    pub(super) fn explain_statement(
        &mut self,
        given: ExplainOptions,
        parsed: &Parsed,
        (types, values): Given<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        let since = Instant::now();
        let unsupported = || SqlError::unsupported("EXPLAIN of this statement");
        let (prepared, values) = match &parsed.command {
            Command::Rows(_) => {
                self.open_implicit(false);
                let prepared = self.prepare(Some(parsed.clone()), types.iter().copied().map(Some).collect())?;
                prepared.check_values(values)?;
                (prepared, values.to_vec())
            }
            Command::Execute(name, arguments) => {
                let prepared = self.prepared_named(name)?;
                if !matches!(&prepared.parsed, Some(Parsed { command: Command::Rows(_), .. })) {
                    return Err(unsupported());
                }
                let values = self.argument_values(name, &prepared, arguments)?;
                (prepared, values)
            }
            _ => return Err(unsupported()),
        };
        let statement = self.plan_of(&prepared)?;
        let database = self.database.clone();
        let sizes = Sizes::of(&*database.store, &database.samples);
        let facts = Facts::of_statement(&statement, &sizes);
        let estimate = |plan: &Plan| optimize::estimate(plan, &facts);
        let planning = Some(since.elapsed());
        let logged = explain::logged(&mut self.exec(&values)?, &statement);
        let (estimate, logged) = (Some(&estimate as &dyn Fn(&Plan) -> _), Some(&logged));
        let options = explain::Options { given, estimate, planning, logged, ..Default::default() };
        let lines = if given.analyze {
            self.check_writable(&statement)?;
            self.freeze_cursors()?;
            explain::analyze(&mut self.exec(&values)?, &statement, options)?
        } else {
            explain::explain(&statement, options)
        };
        let rows = lines.into_iter().map(|line| vec![Datum::Text(line.into())]).collect();
        self.answer(&[explain_field(given.format)], rows, "EXPLAIN", sink)
    }
}

fn explain_field(format: ExplainFormat) -> Field {
    let data_type = if format == ExplainFormat::Json { Type::JSON } else { Type::TEXT };
    Field { data_type, ..text_field("QUERY PLAN") }
}

fn text_field(name: &str) -> Field {
    Field { name: name.to_owned(), data_type: Type::TEXT, modifier: Modifier::NONE, origin: None }
}
