//! Starting an operator: which columns those below have to make, and in which order, and what holds rows runs to its end.

use super::sought::{self, Sought};
use super::{Flow, Host, Kind, Operator, Order, Origin, Stage, Stop};
use crate::aggregate::{Grouping, Groups, SpilledGroups};
use crate::columns::Columns;
use crate::expression::Expression;
use crate::join::{Builder, Built, JoinRule, Probing, SpilledJoin, Table};
use crate::sort::{Edge, SortKey, Sorted, Sorter};
use crate::threads::Threads;
use pgtypes::{Error, Type, state};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What is asked of an operator from above.
#[derive(Clone)]
struct Asked {
    /// The columns that are read: its batches have these.
    columns: Columns,
    /// Whether something depends on the order of its rows.
    order: Order,
    /// Keys without which a row is not needed.
    sought: Vec<Sought>,
}

impl Flow {
    /// Starts an operator, of whose columns these are read: everything below that holds rows runs to its end.
    ///
    /// # Errors
    /// [`Stop`]
    pub fn start<H: Host>(operator: Operator, columns: &Columns, host: &mut H) -> Result<Flow, Stop<H::Error>> {
        // Rows that a sort calls equal have no order.
        let order = if matches!(operator.kind, Kind::Sort(..)) { Order::OfSource } else { Order::Kept };
        Flow::of_operator(operator, Asked { columns: columns.clone(), order, sought: Vec::new() }, host)
    }

    fn of_operator<H: Host>(operator: Operator, asked: Asked, host: &mut H) -> Result<Flow, Stop<H::Error>> {
        let Operator { kind, types, counter } = operator;
        match kind {
            Kind::Source(source) => {
                sought::tell(&asked.sought, source, host);
                Ok(Flow::of(Origin::Source(source), asked.columns, counter, 0))
            }
            Kind::Filter(input, condition) => Flow::filter(*input, &condition, asked, counter, host),
            Kind::Project(input, columns) => Flow::project(*input, &columns, asked, counter, host),
            Kind::Join(probing, built, rule) => Flow::join((*probing, *built), &rule, asked, counter, host),
            Kind::Aggregate(input, grouping) => Flow::aggregate(*input, &grouping, asked, counter, host),
            Kind::Sort(input, keys, bound) => Flow::sort(*input, (&keys, bound, &types), asked, counter, host),
        }
    }

    fn filter<H: Host>(
        input: Operator,
        condition: &Expression,
        Asked { columns, order, sought }: Asked,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let read = columns.and(&Columns::of_expressions([condition]));
        let stage = Stage::Filter(read.narrow(condition), read.places(&columns));
        let sought = sought::below_filter(sought, condition);
        Ok(Flow::of_operator(input, Asked { columns: read, order, sought }, host)?.with(stage, counter))
    }

    fn project<H: Host>(
        input: Operator,
        made: &[Expression],
        Asked { columns, order, sought }: Asked,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let sought = sought::below_project(&sought, made);
        let (wanted, others): (Vec<_>, Vec<_>) = made.iter().enumerate().partition(|(at, _)| columns.contains(*at));
        let wanted: Vec<&Expression> = wanted.into_iter().map(|(_, of)| of).collect();
        let failing: Vec<&Expression> = others.into_iter().map(|(_, of)| of).filter(|of| !of.is_safe()).collect();
        let read = Columns::of_expressions(wanted.iter().chain(&failing).copied());
        let narrow = |all: Vec<&Expression>| all.into_iter().map(|of| read.narrow(of)).collect();
        let stage = Stage::Project(narrow(wanted), narrow(failing));
        Ok(Flow::of_operator(input, Asked { columns: read, order, sought }, host)?.with(stage, counter))
    }

    fn sort<H: Host>(
        input: Operator,
        (keys, bound, types): (&[SortKey], Option<usize>, &[Type]),
        Asked { columns, order, .. }: Asked,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let read = columns.and(&Columns::of_expressions(keys.iter().map(|key| &key.expression)));
        let edge = bound.and_then(|_| Edge::of(keys)).map(Arc::new);
        let sought = edge.iter().filter_map(|edge| Sought::of_sort(keys, edge)).collect();
        let narrow = |key: &SortKey| SortKey { expression: read.narrow(&key.expression), ..*key };
        let keys = Arc::new(keys.iter().map(narrow).collect::<Vec<SortKey>>());
        let shown: Vec<(usize, Type)> =
            read.places(&columns).into_iter().zip(columns.iter().map(|at| types[at])).collect();
        let flow = Flow::of_operator(input, Asked { columns: read, order, sought }, host)?;
        let share = flow.share(host);
        let sharing = Arc::default();
        let start = || Sorter::new(keys.clone(), &shown, (bound, edge.clone()), share.clone(), &sharing);
        let sorters = flow.drive(host, order, &start, &|sorter, batch| {
            sorter.add(batch)?;
            Ok(sorter.memory())
        })?;
        let mut sorters = sorters.into_iter();
        let mut all = sorters.next().unwrap_or_else(start);
        for other in sorters {
            all.merge(other)?;
        }
        let shown = Columns::first(shown.len());
        match all.finish(&threads(host))? {
            Sorted::Held(batches) => Flow::made(batches, shown, counter, host),
            Sorted::Merged(merge) => Flow::stored(merge, shown, share, counter, host),
        }
    }

    fn join<H: Host>(
        (probing, built): (Operator, Operator),
        rule: &JoinRule,
        Asked { columns, order, sought }: Asked,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let (join, read) = rule.narrow(&columns, probing.types.len());
        let join = Arc::new(join);
        let (mut sought, of_built) = sought::below_join(&sought, rule, probing.types.len());
        let flow = Flow::of_operator(built, Asked { columns: read.built, order, sought: of_built }, host)?;
        // Parts of the rows come in another order.
        let share = flow.share(host).filter(|_| !rule.keeps_order);
        let sharing = Arc::default();
        let start = || Builder::new(join.clone(), share.clone(), 0, &sharing);
        let builders = flow.drive(host, order, &start, &|builder, batch| {
            builder.add(batch)?;
            Ok(builder.memory())
        })?;
        let built = Builder::finish(&join, builders, &threads(host))?;
        if let Built::Table(table) = &built {
            sought.extend(Sought::of_join(rule, table));
        }
        let asked = Asked { columns: read.probing, order, sought };
        match (built, share) {
            (Built::Parts(built), Some(share)) => {
                let flow = Flow::of_operator(probing, asked, host)?;
                let start = || Probing::new(join.clone(), &share, 0);
                let all = flow.drive(host, Order::Kept, &start, &|probing, batch| {
                    probing.add(batch)?;
                    Ok(probing.memory())
                })?;
                let probing = all.into_iter().next().unwrap_or_else(start);
                let join = SpilledJoin::new(built, probing, share.clone())?;
                Flow::stored(Box::new(join), Columns::first(columns.len()), Some(share), counter, host)
            }
            (Built::Table(table), _) if rule.marks() => Flow::marked(&table, (probing, asked), counter, host),
            (Built::Table(table), _) => {
                let held = table.memory();
                let mut flow = Flow::of_operator(probing, asked, host)?.with(Stage::Probe(table), counter);
                flow.course.held += held;
                Ok(flow)
            }
            (Built::Parts(_), None) => {
                Err(Error::new(state::INTERNAL_ERROR, "a join was divided without leave").into())
            }
        }
    }

    /// A join whose built rows stay or not, as those of the other side have met them.
    fn marked<H: Host>(
        table: &Table,
        (probing, asked): (Operator, Asked),
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        // Without a row nothing of the other side is read, so that nothing depends on it.
        if !table.is_empty() {
            let asked = Asked { order: Order::Free, ..asked };
            let mut flow = Flow::of_operator(probing, asked, host)?;
            flow.course.held += table.memory();
            flow.drive(host, Order::Free, &|| (), &|(), batch| {
                table.mark(batch)?;
                Ok(0)
            })?;
        }
        Flow::made(table.remaining(), Columns::first(table.width()), counter, host)
    }

    fn aggregate<H: Host>(
        input: Operator,
        grouping: &Grouping,
        Asked { columns, sought, .. }: Asked,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let sought = sought::below_aggregate(&sought, grouping);
        let read = grouping.columns();
        let grouping = Arc::new(grouping.narrow(&read));
        let order = if grouping.is_mergeable() { Order::Free } else { Order::Kept };
        // Rows without an order need none below; those that are read by one thread are read in theirs.
        let below = if order == Order::Free { Order::OfSource } else { order };
        let flow = Flow::of_operator(input, Asked { columns: read, order: below, sought }, host)?;
        let share = flow.share(host);
        let workers = if order == Order::Free { host.workers() } else { 1 };
        let of_each = share.as_ref().map(|share| share.divided(workers));
        let groups = match flow.sum(host, &grouping) {
            Some(groups) => groups?,
            None => flow.drive(host, order, &|| Groups::new(grouping.clone(), of_each.clone()), &|groups, batch| {
                groups.add(batch)?;
                Ok(groups.memory())
            })?,
        };
        if groups.iter().any(Groups::is_spilled)
            && let Some(share) = share
        {
            let groups = SpilledGroups::new(groups, share.clone())?;
            return Flow::stored(Box::new(groups), columns, Some(share), counter, host);
        }
        let mut groups = groups.into_iter();
        let mut all = groups.next().unwrap_or_else(|| Groups::new(grouping.clone(), None));
        for other in groups {
            all.merge(other)?;
        }
        Flow::made(all.finish()?, columns, counter, host)
    }
}

fn threads<H: Host>(host: &H) -> Threads {
    Threads { count: host.workers(), enter: host.enter() }
}
