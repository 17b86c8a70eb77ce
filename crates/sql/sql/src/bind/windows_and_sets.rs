//! Windows and sets: the stages between groups and the select list, and the real numbers of their columns.

use super::Binder;
use super::calls::{Calls, SETS, SetSlot, WINDOWS, WindowSlot};
use super::grouping::group_column;
use super::walk::{bound_offset, renumber};
use crate::plan::{Expr, Plan, SetColumn, SortKey, Window, equal, equal_lists};
use crate::types::{Modifier, Type};

/// Real positions of the columns of calls.
#[derive(Default)]
struct Places {
    keys: usize,
    windows: Vec<usize>,
    sets: Vec<usize>,
}

impl Places {
    fn of(&self, at: usize) -> usize {
        match at {
            SETS.. => self.sets[at - SETS],
            WINDOWS.. => self.windows[at - WINDOWS],
            _ => group_column(at, self.keys),
        }
    }

    fn place(&self, expression: &mut Expr) {
        renumber(expression, &|at| self.of(at));
    }
}

impl Binder<'_, '_> {
    /// Adds the windows and sets that the targets call to a plan of `width` columns, and renumbers the targets' columns.
    pub(super) fn add_windows_and_sets(
        &mut self,
        mut plan: Plan,
        width: usize,
        calls: Calls,
        targets: &mut [Expr],
    ) -> Plan {
        let mut places = Places { keys: calls.keys, ..Places::default() };
        let mut types: Vec<Option<Type>> = vec![None; width];
        plan = windows(plan, calls.windows, &mut places, &mut types);
        plan = sets(plan, calls.sets, &mut places, &mut types);
        for target in targets {
            places.place(target);
        }
        plan
    }
}

/// Adds the windows; windows with equal partitioning and order share one operator.
fn windows(mut plan: Plan, slots: Vec<WindowSlot>, places: &mut Places, types: &mut Vec<Option<Type>>) -> Plan {
    places.windows = vec![0; slots.len()];
    let mut rest: Vec<(usize, WindowSlot)> = slots.into_iter().enumerate().collect();
    while let Some((first_number, first)) = rest.first() {
        let (first_number, partition, order) = (*first_number, first.partition.clone(), first.order.clone());
        let is_same = |slot: &WindowSlot| equal_lists(&slot.partition, &partition) && equal_orders(&slot.order, &order);
        // A window ordered by something volatile is not even equal to itself.
        let is_own = |(number, slot): &(usize, WindowSlot)| *number == first_number || is_same(slot);
        let (own, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_own);
        rest = others;
        let mut window = Window { input: plan, partition, order, calls: vec![] };
        window.partition.iter_mut().for_each(|key| places.place(key));
        window.order.iter_mut().for_each(|key| places.place(&mut key.expression));
        for (number, slot) in own {
            let mut call = slot.call;
            let (start, end) = (&mut call.frame.start, &mut call.frame.end);
            let offsets = bound_offset(start).into_iter().chain(bound_offset(end));
            for part in call.arguments.iter_mut().chain(&mut call.filter).chain(offsets) {
                places.place(part);
            }
            places.windows[number] = types.len();
            types.push(Some(slot.result));
            window.calls.push(call);
        }
        plan = Plan::Window(Box::new(window));
    }
    plan
}

fn equal_orders(left: &[SortKey], right: &[SortKey]) -> bool {
    let same_key = |(left, right): (&SortKey, &SortKey)| {
        left.descending == right.descending
            && left.nulls_first == right.nulls_first
            && equal(&left.expression, &right.expression)
    };
    left.len() == right.len() && left.iter().zip(right).all(same_key)
}

/// Adds the sets stage by stage: sets in the arguments of others first, those of one stage side by side.
fn sets(mut plan: Plan, slots: Vec<SetSlot>, places: &mut Places, types: &mut Vec<Option<Type>>) -> Plan {
    places.sets = vec![0; slots.len()];
    let stages = slots.iter().map(|slot| slot.stage + 1).max().unwrap_or(0);
    for stage in 0..stages {
        let column = |(at, data_type): (usize, &Option<Type>)| {
            SetColumn::Value(Expr::column(at, data_type.unwrap_or(Type::UNKNOWN), Modifier::NONE))
        };
        let mut columns: Vec<SetColumn> = types.iter().enumerate().map(column).collect();
        for (number, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.stage == stage) {
            let mut arguments = slot.arguments.clone();
            arguments.iter_mut().for_each(|argument| places.place(argument));
            columns.push(SetColumn::Set(slot.function.clone(), arguments));
            places.sets[number] = types.len();
            types.push(Some(slot.function.result));
        }
        plan = Plan::ProjectSet { input: Box::new(plan), columns };
    }
    plan
}
