//! UNION, INTERSECT, EXCEPT.

use super::Binder;
use super::aggregate::without_equality;
use super::query::Bound;
use super::target::item_start;
use crate::error::{Result, SqlError, state};
use crate::functions::common_type;
use crate::plan::{Plan, SetOperation};
use crate::types::{Modifier, Type};
use syntax::ast::{Location, SetExpr, SetOperator};

impl Binder<'_, '_> {
    /// Binds a left-deep chain of set operations in a loop.
    pub(super) fn set_operation(&mut self, body: &SetExpr) -> Result<Bound> {
        let mut links = vec![];
        let mut leftmost = body;
        while let SetExpr::SetOperation { left, operator, all, right } = leftmost {
            links.push((*operator, *all, &**right));
            leftmost = left;
        }
        let mut bound = self.side(leftmost)?;
        while let Some((operator, all, right_syntax)) = links.pop() {
            let (operation, name) = match operator {
                SetOperator::Union => (SetOperation::Union, "UNION"),
                SetOperator::Intersect => (SetOperation::Intersect, "INTERSECT"),
                SetOperator::Except => (SetOperation::Except, "EXCEPT"),
            };
            let barrier = (operation != SetOperation::Union).then_some(name);
            let right = self.behind(barrier, |binder| binder.side(right_syntax))?;
            bound = self.combine((bound, right), operation, all, name, right_syntax)?;
        }
        Ok(bound)
    }

    fn combine(
        &mut self,
        (left, right): (Bound, Bound),
        operation: SetOperation,
        all: bool,
        name: &str,
        syntax: &SetExpr,
    ) -> Result<Bound> {
        if left.fields.len() != right.fields.len() {
            let message = format!("each {name} query must have the same number of columns");
            return Err(self.text.error_at(SqlError::new(state::SYNTAX_ERROR, message), first_item(syntax)));
        }
        let mut types = Vec::with_capacity(left.fields.len());
        for (left, right) in left.fields.iter().zip(&right.fields) {
            let both = [left.data_type, right.data_type];
            let Some(common) = common_type(&both) else {
                let message = format!("{name} types {} and {} cannot be matched", both[0].name(), both[1].name());
                return Err(self.text.error_at(SqlError::new(state::DATATYPE_MISMATCH, message), first_item(syntax)));
            };
            types.push(common);
        }
        if !all && types.contains(&Type::JSON) {
            return Err(without_equality());
        }
        let left = self.convert_columns(left, &types)?;
        let right = self.convert_columns(right, &types)?;
        let mut fields = left.fields;
        for (field, other) in fields.iter_mut().zip(&right.fields) {
            field.origin = None;
            if field.modifier != other.modifier {
                field.modifier = Modifier::NONE;
            }
        }
        let plan = Plan::Set { operation, all, left: Box::new(left.plan), right: Box::new(right.plan) };
        Ok(Bound { plan, fields, places: vec![], recursive: false })
    }
}

/// Location of a side's first column.
fn first_item(body: &SetExpr) -> Location {
    match body {
        SetExpr::Select(select) => item_start(select.projection.first()),
        SetExpr::Query(query) => first_item(&query.body),
        SetExpr::SetOperation { left, .. } => first_item(left),
        _ => super::position::NOWHERE,
    }
}
