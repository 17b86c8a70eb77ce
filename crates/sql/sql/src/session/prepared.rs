//! Prepared statements: their syntax, their parameters, and the plan, which is valid as long as its names mean the same.

use super::{ByName, Description, Session};
use crate::bind;
use crate::catalog::{TypeKind, type_of};
use crate::context::Names;
use crate::env::Vectors;
use crate::env::{CatalogLookup, ListsStatements, LockMode, StatementInfo};
use crate::error::{Result, SqlError, state};
use crate::memory::Memory;
use crate::optimize::{Noted, Sizes};
use crate::plan::{Field, Statement};
use crate::types::{Datum, Type};
use model::RowBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use syntax::ast::{DataType, SetExpr};
use syntax::{Command, Parsed};

/// A prepared statement.
pub(super) struct Prepared {
    /// Its syntax; `None` for an empty statement.
    pub parsed: Option<Parsed>,
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// Its columns; `None` if it returns no rows.
    pub fields: Option<Vec<Field>>,
    /// Its plan, and the names on which the plan depends.
    plan: Mutex<Option<Plan>>,
    /// Uses of a plan that sizes chose. A counter that nothing is published by.
    uses: AtomicU32,
    /// Creation time. Microseconds since 1970.
    pub at: i64,
    /// Approximate memory of its syntax and its plan.
    #[expect(dead_code, reason = "held for what it counts")]
    memory: Memory,
}

impl Prepared {
    /// # Errors
    /// 42P02 if a parameter has no value.
    pub fn check_values(&self, values: &[Datum]) -> Result<()> {
        if self.parameters.len() > values.len() {
            let message = format!("there is no parameter ${}", values.len() + 1);
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, message));
        }
        Ok(())
    }
}

/// Types of parameters; those that nothing says are texts.
fn known(types: Vec<Option<Type>>) -> Vec<Type> {
    types.into_iter().map(|found| found.unwrap_or(Type::TEXT)).collect()
}

/// Types and values of the parameters of a statement of the extended protocol.
pub(super) type Given<'g> = (&'g [Type], &'g [Datum]);

/// What a statement of the simple protocol has.
pub(super) const NO_PARAMETERS: Given<'static> = (&[], &[]);

#[derive(Clone)]
struct Plan {
    statement: Arc<Statement>,
    rests_on: Arc<[CatalogLookup]>,
    /// The sizes of tables by which it was chosen.
    sizes: Arc<Noted>,
    /// The setting by which it was chosen.
    vectors: Vectors,
    /// Whether it contains values that depend on the time or the time zone.
    has_moments: bool,
}

/// A session's prepared statements, which it shows in `pg_prepared_statements`.
#[derive(Default)]
pub(super) struct PreparedStatements(Mutex<ByName<Named>>);

#[derive(Clone)]
struct Named {
    prepared: Arc<Prepared>,
    /// The text of PREPARE, if SQL made it and not the protocol.
    made_by: Option<Arc<str>>,
}

impl PreparedStatements {
    fn latch(&self) -> MutexGuard<'_, ByName<Named>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &str) -> Option<Arc<Prepared>> {
        self.latch().get(name).map(|named| named.prepared.clone())
    }

    fn insert(&self, name: &str, named: Named) {
        // What it replaces is dropped after the latch.
        let _before = self.latch().insert(name.to_owned(), named);
    }

    pub fn remove(&self, name: &str) {
        let _before = self.latch().remove(name);
    }

    pub fn clear(&self) {
        let _before = std::mem::take(&mut *self.latch());
    }

    fn len(&self) -> usize {
        self.latch().len()
    }
}

impl ListsStatements for PreparedStatements {
    fn list(&self) -> Vec<StatementInfo> {
        let described = |(name, named): (&String, &Named)| {
            let Named { prepared, made_by } = named;
            let source = || prepared.parsed.as_ref().map(|parsed| parsed.source().to_owned()).unwrap_or_default();
            StatementInfo {
                name: name.clone(),
                text: made_by.as_ref().map_or_else(source, |text| text.to_string()),
                at: prepared.at,
                parameters: prepared.parameters.clone(),
                from_sql: made_by.is_some(),
            }
        };
        self.latch().iter().filter(|(name, _)| !name.is_empty()).map(described).collect()
    }
}

/// Statements of the simple protocol by text, so that a repeated one is not planned again.
#[derive(Default)]
pub(super) struct Recent {
    by_text: ByName<CachedPlan>,
    /// Bytes of the texts.
    bytes: usize,
    /// Uses so far.
    clock: u64,
}

struct CachedPlan {
    prepared: Arc<Prepared>,
    last_use: u64,
}

/// A plan that is in use for long is compared with the sizes of its tables once in so many uses.
const USES_BETWEEN_SIZES: u32 = 64;

/// Approximate memory of a prepared statement: a constant, and a multiple of its text's length.
const PREPARED_BYTES: usize = 2048;
const BYTES_PER_CHARACTER: usize = 16;

/// Limits: number of texts, their total bytes (a plan takes several times its text), and the bytes of one.
const RECENT: usize = 256;
const RECENT_BYTES: usize = 32 << 10;
const RECENT_TEXT_BYTES: usize = 1024;

impl Recent {
    pub fn get(&mut self, text: &str) -> Option<Arc<Prepared>> {
        if text.len() > RECENT_TEXT_BYTES {
            return None;
        }
        let kept = self.by_text.get_mut(text)?;
        self.clock += 1;
        kept.last_use = self.clock;
        Some(kept.prepared.clone())
    }

    /// Keeps a statement, unless it is long or its meaning depends on the time. The least recently used one is evicted.
    pub fn put(&mut self, text: &str, prepared: &Arc<Prepared>) {
        if text.len() > RECENT_TEXT_BYTES || prepared.has_moments() {
            return;
        }
        self.remove(text);
        while self.by_text.len() >= RECENT || self.bytes + text.len() > RECENT_BYTES {
            // A walk over some hundreds, for a statement that had to be planned.
            let Some(oldest) = self.by_text.iter().min_by_key(|(_, kept)| kept.last_use) else { break };
            let oldest = oldest.0.clone();
            self.remove(&oldest);
        }
        self.clock += 1;
        self.bytes += text.len();
        self.by_text.insert(text.to_owned(), CachedPlan { prepared: prepared.clone(), last_use: self.clock });
    }

    fn remove(&mut self, text: &str) {
        if self.by_text.remove(text).is_some() {
            self.bytes -= text.len();
        }
    }

    pub fn clear(&mut self) {
        *self = Recent::default();
    }
}

impl Session {
    /// Prepares a statement. Outside a transaction names are looked up in a short transaction; execution looks them up again.
    pub(super) fn prepare(&mut self, parsed: Option<Parsed>, given: Vec<Option<Type>>) -> Result<Arc<Prepared>> {
        let at = self.state.statement_time;
        let text = parsed.as_ref().map(|parsed| parsed.text.clone()).unwrap_or_default();
        let length = parsed.as_ref().map_or(0, |parsed| parsed.source().len());
        let memory = Memory::kept(&self.database.budget, PREPARED_BYTES + length * BYTES_PER_CHARACTER)?;
        let unplanned = |parsed, parameters, fields, memory| {
            let (plan, uses) = (Mutex::default(), AtomicU32::default());
            Prepared { parsed, parameters, fields, plan, uses, at, memory }
        };
        let rows = match &parsed {
            Some(parsed) => match &parsed.command {
                Command::Rows(statement) => statement.clone(),
                _ => {
                    let parameters = match parsed.inner_rows() {
                        Some(inner) => self.prepare(Some(inner), given)?.parameters.clone(),
                        None => known(given),
                    };
                    let fields = self.utility_fields(parsed)?;
                    return Ok(Arc::new(unplanned(Some(parsed.clone()), parameters, fields, memory)));
                }
            },
            None => return Ok(Arc::new(unplanned(None, known(given), None, memory))),
        };
        let own_transaction = self.open.is_none();
        self.open_implicit(own_transaction);
        let mut parameters = given;
        let planned = self.read_types(&mut parameters).and_then(|()| self.plan(&text, &rows, &mut parameters));
        if own_transaction {
            self.end_lookup_transaction();
        }
        let plan = planned?;
        let parameters = known(parameters);
        let fields = plan.statement.columns().map(<[Field]>::to_vec);
        let plan = Mutex::new(Some(plan));
        let uses = AtomicU32::default();
        Ok(Arc::new(Prepared { parsed, parameters, fields, plan, uses, at, memory }))
    }

    /// Returns the plan of a statement in the open transaction: the cached one, if its names still mean the same.
    ///
    /// # Errors
    /// 0A000 if it has other columns than when it was prepared.
    pub(super) fn plan_of(&mut self, prepared: &Prepared) -> Result<Arc<Statement>> {
        let plan = self.plan_if_same_shape(prepared)?;
        // Drivers prepare the statement again if the routine is this one.
        plan.ok_or_else(|| {
            SqlError::new(state::FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
                .routine("RevalidateCachedQuery")
        })
    }

    /// Same as [`Session::plan_of`]; `None` if the statement has other columns than when it was prepared.
    pub(super) fn plan_if_same_shape(&mut self, prepared: &Prepared) -> Result<Option<Arc<Statement>>> {
        if let Some(statement) = self.kept_plan(prepared)? {
            return Ok(Some(statement));
        }
        let Some(Parsed { command: Command::Rows(rows), text, .. }) = &prepared.parsed else {
            return Err(SqlError::new(state::INTERNAL_ERROR, "only statements over rows are planned"));
        };
        let mut parameters = prepared.parameters.iter().copied().map(Some).collect();
        let plan = self.plan(text, rows, &mut parameters)?;
        if !same_shape(plan.statement.columns(), prepared.fields.as_deref()) {
            return Ok(None);
        }
        self.show_relations(&plan);
        *prepared.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        Ok(Some(plan.statement))
    }

    /// Returns the cached plan, if its names still mean the same and its tables have about the sizes that they had.
    pub(super) fn kept_plan(&mut self, prepared: &Prepared) -> Result<Option<Arc<Statement>>> {
        let kept = prepared.plan.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match kept {
            Some(plan)
                if plan.vectors == self.state.derived.vectors
                    && self.still_fits(prepared, &plan.sizes)
                    && self.still_means(&plan.rests_on)? =>
            {
                self.show_relations(&plan);
                Ok(Some(plan.statement))
            }
            _ => Ok(None),
        }
    }

    /// Reads the types of parameters that statements have defined.
    ///
    /// # Errors
    /// 42704 for one that is not there.
    fn read_types(&mut self, parameters: &mut [Option<Type>]) -> Result<()> {
        for data_type in parameters.iter_mut().flatten() {
            let Some(oid) = data_type.scalar.defined() else { continue };
            match self.exec(&[])?.names().defined_type(oid)? {
                None => {
                    let message = format!("type with OID {} does not exist", data_type.oid());
                    return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
                }
                Some(found) if matches!(found.kind, TypeKind::Domain(_)) => {
                    return Err(SqlError::unsupported(format_args!("a parameter of domain {}", found.name))
                        .hint("Give it the type that the domain is over, and cast it in the statement."));
                }
                // A client's identifier does not say of which kind the type is.
                Some(found) => data_type.scalar = type_of(&found).scalar,
            }
        }
        Ok(())
    }

    /// The types that PREPARE gives to parameters; `None` for one that is inferred.
    ///
    /// # Errors
    /// 42704
    pub(super) fn parameter_types(&mut self, written: &[DataType]) -> Result<Vec<Option<Type>>> {
        let data_type = |names: &mut Names<'_>, written: &DataType| match written.text.eq_ignore_ascii_case("unknown") {
            true => Ok(None),
            false => bind::data_type(names, written).map(|(data_type, _)| Some(data_type)),
        };
        if written.is_empty() {
            return Ok(Vec::new());
        }
        self.look_up(|names| written.iter().map(|written| data_type(names, written)).collect())
    }

    /// Looks something up in the catalog: in the open transaction, or in a short one.
    pub(super) fn look_up<T>(&mut self, look: impl FnOnce(&mut Names<'_>) -> Result<T>) -> Result<T> {
        let own_transaction = self.open.is_none();
        self.open_implicit(own_transaction);
        let found = self.exec(&[]).and_then(|mut exec| look(&mut exec.names()));
        if own_transaction {
            self.end_lookup_transaction();
        }
        found
    }

    fn plan(&mut self, text: &str, rows: &syntax::ast::Statement, parameters: &mut bind::Parameters) -> Result<Plan> {
        self.state.lookups = Some(Vec::new());
        self.state.has_read_moments = false;
        let bound =
            self.exec(&[]).and_then(|mut exec| bind::statement_with_text(&mut exec.names(), text, rows, parameters));
        let rests_on = self.state.lookups.take().unwrap_or_default().into();
        match bound {
            Ok(statement) => {
                let memory = self.database.statement_memory(&self.state).limit();
                let sizes = Sizes::of(&*self.database.store, &self.database.samples).within(memory);
                let vectors = self.state.derived.vectors;
                let statement = Arc::new(crate::optimize::statement(statement, vectors, &sizes));
                let (sizes, has_moments) = (sizes.noted().into(), self.state.has_read_moments);
                Ok(Plan { statement, rests_on, sizes, vectors, has_moments })
            }
            Err(error) => Err(self.explain_unless_repeated(error)),
        }
    }

    /// Returns whether a plan's tables have about the sizes that it was chosen by. It is asked now and then: often at first, then once
    /// in so many uses.
    fn still_fits(&self, prepared: &Prepared, sizes: &Noted) -> bool {
        if sizes.is_empty() {
            return true;
        }
        let uses = prepared.uses.fetch_add(1, Relaxed).wrapping_add(1);
        let is_due = uses.is_power_of_two() || uses.is_multiple_of(USES_BETWEEN_SIZES);
        !is_due || Sizes::of(&*self.database.store, &self.database.samples).are_about(sizes)
    }

    /// Returns whether the names still mean the same. The lookup protects the answer for the rest of the transaction.
    fn still_means(&mut self, noted: &[CatalogLookup]) -> Result<bool> {
        let (mut exec, mut buffer) = (self.exec(&[])?, RowBuf::new());
        for name in noted {
            if !exec.names().still_means(name, &mut buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Publishes the relations that a block uses, while it is open.
    fn show_relations(&self, plan: &Plan) {
        if !self.has_block() {
            return;
        }
        let (written, mode) = match &*plan.statement {
            Statement::Query(query) if query.locks => (None, LockMode::RowShare),
            Statement::Query(_) => (None, LockMode::AccessShare),
            Statement::Insert(insert) => (Some(insert.table.oid), LockMode::AccessShare),
            Statement::Update(update) => (Some(update.table.oid), LockMode::AccessShare),
            Statement::Delete(delete) => (Some(delete.table.oid), LockMode::AccessShare),
            Statement::Merge(merge) => (Some(merge.table.oid), LockMode::AccessShare),
            Statement::Modifying(_) => (None, LockMode::RowExclusive),
        };
        let named =
            plan.rests_on.iter().filter(|noted| !noted.is_type).filter_map(|noted| Some((noted.meaning?.0, mode)));
        self.entry.uses(named.chain(written.map(|oid| (oid, LockMode::RowExclusive))));
    }

    /// Returns the answer of Describe for a prepared statement.
    pub(super) fn describe(&self, prepared: &Prepared) -> Description {
        Description { parameters: prepared.parameters.clone(), fields: prepared.fields.clone() }
    }

    /// Stores a statement under a name, with the text of PREPARE if that made it. The unnamed one may be replaced.
    pub(super) fn keep(&mut self, name: &str, prepared: Arc<Prepared>, made_by: Option<&str>) -> Result<()> {
        if !name.is_empty() {
            if self.prepared.get(name).is_some() {
                let message = format!("prepared statement \"{name}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_PREPARED_STATEMENT, message));
            }
            self.check_room()?;
        }
        self.prepared.insert(name, Named { prepared, made_by: made_by.map(Arc::from) });
        Ok(())
    }

    /// Checks that one more prepared statement or portal may be stored.
    pub(super) fn check_room(&self) -> Result<()> {
        let limit = self.database.options.prepared;
        if self.prepared.len() + self.portals.len() < limit {
            return Ok(());
        }
        let message = format!("too many prepared statements and portals: {limit} are open");
        Err(SqlError::new(state::CONFIGURATION_LIMIT_EXCEEDED, message).hint("Close those that are not needed."))
    }

    pub(super) fn prepared_named(&self, name: &str) -> Result<Arc<Prepared>> {
        self.prepared.get(name).ok_or_else(|| {
            let message = match name {
                "" => "unnamed prepared statement does not exist".into(),
                _ => format!("prepared statement \"{name}\" does not exist"),
            };
            SqlError::new(state::INVALID_SQL_STATEMENT_NAME, message)
        })
    }
}

/// Dropping a tree recurses over it, too.
impl Drop for Prepared {
    fn drop(&mut self) {
        let (parsed, plan) = (self.parsed.take(), self.plan.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        let bytes = parsed.as_ref().map_or(0, |parsed| parsed.place.len());
        crate::stack::ensure_statement_stack(bytes, || drop((parsed, plan)));
    }
}

impl Prepared {
    fn has_moments(&self) -> bool {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|plan| plan.has_moments)
    }

    /// Returns whether it is a query that neither locks rows nor advances a sequence, by its plan, or by its syntax if there is no
    /// plan yet.
    pub fn only_reads(&self) -> bool {
        let kept = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref().map(|plan| &*plan.statement) {
            Some(Statement::Query(query)) => return !query.locks,
            Some(_) => return false,
            None => {}
        }
        match self.parsed.as_ref().map(|parsed| &parsed.command) {
            Some(Command::Rows(statement)) => {
                let writes = |body: &SetExpr| matches!(body, SetExpr::Write(_));
                let parts = |query: &syntax::ast::Query| {
                    query.with.iter().flat_map(|with| &with.queries).any(|cte| writes(&cte.query.body))
                };
                matches!(&**statement, syntax::ast::Statement::Query(query)
                    if query.locks.is_empty() && !writes(&query.body) && !parts(query))
            }
            _ => false,
        }
    }
}

fn same_shape(left: Option<&[Field]>, right: Option<&[Field]>) -> bool {
    let shapes = |fields: Option<&[Field]>| {
        let shape = |field: &Field| (field.name.clone(), field.data_type, field.modifier);
        fields.map(|fields| fields.iter().map(shape).collect::<Vec<_>>())
    };
    shapes(left) == shapes(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Sink;
    use crate::types::Datum;

    /// A client that discards all results.
    struct DiscardingSink;

    impl Sink for DiscardingSink {
        fn row(&mut self, _: &[Datum]) -> Result<()> {
            Ok(())
        }
        fn restart(&mut self) -> bool {
            true
        }
    }

    fn nothing() -> Arc<Prepared> {
        let memory = Memory::new(crate::memory::Budget::new(0), 0);
        let (parsed, fields, plan, uses) = (None, None, Mutex::default(), AtomicU32::default());
        Arc::new(Prepared { parsed, parameters: Vec::new(), fields, plan, uses, at: 0, memory })
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_makes_room() {
        let mut recent = Recent::default();
        let text = |number: usize| format!("SELECT {number}");
        (0..RECENT).for_each(|number| recent.put(&text(number), &nothing()));
        assert!(recent.get(&text(0)).is_some(), "all that fit are there");
        recent.put(&text(RECENT), &nothing());
        assert!(recent.get(&text(0)).is_some(), "it was used since");
        assert!(recent.get(&text(1)).is_none() && recent.get(&text(2)).is_some(), "one has made room");
        recent.put(&text(2), &nothing());
        assert_eq!(recent.by_text.len(), RECENT);
    }

    /// Several hundred statements in rotation, as in an application: each is planned once.
    #[test]
    fn statements_in_turns_keep_their_plans() {
        let engine = mvto::Mvto::in_memory(mvto::Options::default()).expect("an engine in memory");
        let store = Arc::new(crate::store::Engine(Arc::new(engine)));
        let database = crate::database::Database::open(store, Default::default()).expect("a database");
        let how = crate::session::Connect { user: "postgres".into(), ..Default::default() };
        let mut session = database.connect(how).expect("a session");
        for count in [65, 200] {
            let text = |number: usize| format!("SELECT {number} + {count}");
            let mut planned = Vec::new();
            for round in 0..3 {
                for number in 0..count {
                    session.simple(&text(number), &mut DiscardingSink).expect("it runs");
                    let kept = session.recent.get(&text(number)).expect("it is kept");
                    if round == 0 {
                        planned.push(kept);
                    } else {
                        assert!(Arc::ptr_eq(&kept, &planned[number]), "{} is planned again", text(number));
                    }
                }
            }
        }
    }

    #[test]
    fn the_bytes_of_all_texts_are_bounded() {
        let mut recent = Recent::default();
        let text = |number: usize| format!("{number:0RECENT_TEXT_BYTES$}");
        (0..200).for_each(|number| recent.put(&text(number), &nothing()));
        assert_eq!((recent.bytes, recent.by_text.len()), (RECENT_BYTES, RECENT_BYTES / RECENT_TEXT_BYTES));
        recent.put(&format!("{}x", text(0)), &nothing());
        assert!(recent.get(&format!("{}x", text(0))).is_none(), "too long for one");
        recent.put(&text(199), &nothing());
        let bytes: usize = recent.by_text.keys().map(String::len).sum();
        assert_eq!(bytes, recent.bytes);
    }
}
