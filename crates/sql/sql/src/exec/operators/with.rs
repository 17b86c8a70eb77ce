//! WITH: queries that run at most once, only as far as they are read, and are shared by all readers.
//!
//! What runs over batches is kept as batches, and read as such by operators over batches ([`CteReader::next_piece`]). Rows that come one by
//! one are made batches when they are many, so that they may go to a file.

use super::super::scope::{Cte, KeptBatches, PlanRows, Rows, Run, SHARE, out_of_step};
use super::Node;
use super::scan::Decoded;
use crate::context::row_bytes;
use crate::env::Vectors;
use crate::error::Result;
use crate::plan::Plan;
use crate::types::{Row, Type};
use pgtypes::memory::push;
use std::sync::Arc;
use vectors::flow::Piece;
use vectors::{BATCH_ROWS, Batch};

/// The state of WITH.
pub struct WithState {
    body: Node,
    started: bool,
}

impl WithState {
    pub fn new(body: Node) -> WithState {
        WithState { body, started: false }
    }

    pub fn next(&mut self, queries: &[(usize, Arc<Plan>)], body: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if !self.started {
            self.started = true;
            for (number, plan) in queries {
                run.started(plan);
                let node = run.start(plan);
                run.define_cte(*number, plan.clone(), Some(node), Vec::new());
            }
        }
        self.body.next(body, run)
    }
}

/// A reader of a query of WITH.
#[derive(Default)]
pub struct CteReader {
    /// Rows that it has read.
    at: usize,
    /// The batch at hand, and the number of its first row.
    batch: (usize, Batch),
}

impl CteReader {
    /// The next row.
    pub fn next(&mut self, number: usize, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        loop {
            let cte = run.scope.ctes.get(&number).ok_or_else(out_of_step)?;
            let (first, batch) = &self.batch;
            if (*first..first + batch.rows).contains(&self.at) {
                self.at += 1;
                return Ok(Some(cte.batches.row(batch, self.at - 1 - first)));
            }
            if let Some(batch) = cte.batches.with_row(self.at)? {
                self.batch = batch;
                continue;
            }
            if let Some(row) = cte.rows.get(self.at - cte.batches.rows()) {
                self.at += 1;
                return Ok(Some(row.clone()));
            }
            if !run.pull_cte(number)? {
                return Ok(None);
            }
        }
    }

    /// The next rows together, at most `most` of those that come one by one; their types are these.
    pub fn next_piece(
        &mut self,
        (number, types): (usize, &Arc<[Type]>),
        most: usize,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Box<dyn Piece>>> {
        loop {
            let cte = run.scope.ctes.get(&number).ok_or_else(out_of_step)?;
            if let Some((first, batch)) = cte.batches.with_row(self.at)? {
                let from = self.at - first;
                self.at = first + batch.rows;
                let rest = || batch.gather(&(from as u32..batch.rows as u32).collect::<Vec<_>>());
                return Ok(Some(Box::new(if from == 0 { batch } else { rest() })));
            }
            let known = self.at - cte.batches.rows();
            if cte.rows.len() - known < most && run.pull_cte(number)? {
                continue;
            }
            let cte = run.scope.ctes.get(&number).ok_or_else(out_of_step)?;
            let rows: Vec<Row> = cte.rows[known..].iter().take(most).cloned().collect();
            if rows.is_empty() {
                return Ok(None);
            }
            self.at += rows.len();
            return Ok(Some(Box::new(Decoded { rows, types: types.clone() })));
        }
    }
}

impl Cte {
    /// Keeps a row that came alone.
    fn keep_row(&mut self, row: Row, run: &mut Run<'_, '_>) -> Result<()> {
        let bytes = row_bytes(&row);
        let memory = &run.exec.memory;
        let is_much = memory.used() + bytes > memory.limit() / SHARE && self.bytes >= memory.limit() / (4 * SHARE);
        if is_much && self.may_pack && run.exec.vectors() != Vectors::Off {
            self.pack(run)?;
        }
        run.hold(bytes, "a query of WITH")?;
        self.bytes += bytes;
        push(&mut self.rows, row)?;
        Ok(())
    }

    /// Makes batches of the rows that came one by one: those may go to a file.
    fn pack(&mut self, run: &mut Run<'_, '_>) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        run.exec.memory.give_back(std::mem::take(&mut self.bytes));
        let types = run.output_types(&self.plan);
        rows.chunks(BATCH_ROWS).try_for_each(|rows| self.batches.add(Batch::from_rows(rows, &types), &types, run))
    }
}

impl Run<'_, '_> {
    /// Runs a query of WITH as far as it makes more rows; `false` if there are none.
    fn pull_cte(&mut self, number: usize) -> Result<bool> {
        let cte = self.scope.ctes.get_mut(&number).ok_or_else(out_of_step)?;
        let Some(mut node) = cte.node.take() else { return Ok(false) };
        let (plan, height) = (cte.plan.clone(), cte.height);
        let Some(rows) = self.outside(height, |run| node.next_rows(&plan, run))? else { return Ok(false) };
        let types = if let Rows::Batch(_) = rows { self.output_types(&plan) } else { Vec::new() };
        let mut cte = self.scope.ctes.remove(&number).ok_or_else(out_of_step)?;
        cte.node = Some(node);
        let kept = match rows {
            Rows::One(row) => cte.keep_row(row, self),
            Rows::Batch(batch) => cte.batches.add(batch, &types, self),
        };
        self.scope.ctes.insert(number, cte);
        kept.map(|()| true)
    }

    /// Brings a query of WITH into scope. Returns the previous query of its number.
    pub(super) fn define_cte(
        &mut self,
        number: usize,
        plan: Arc<Plan>,
        node: Option<Box<dyn PlanRows>>,
        rows: Vec<Row>,
    ) -> Option<Cte> {
        self.scope.generation += 1;
        let generation = self.scope.generation;
        let (batches, height) = (KeptBatches::default(), self.scope.outer.len());
        // A recursion without an end would fill the disk: it ends where memory does.
        let may_pack = !plan.is_recursive();
        let cte = Cte { plan, node, height, batches, rows, bytes: 0, may_pack, generation };
        self.scope.ctes.insert(number, cte)
    }

    /// The types of a plan's columns.
    pub(super) fn output_types(&self, plan: &Plan) -> Vec<Type> {
        plan.output_types(&|number| self.scope.ctes.get(&number).map(|cte| cte.plan.clone()))
    }
}
