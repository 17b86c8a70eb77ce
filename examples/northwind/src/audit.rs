//! The audit: one snapshot of all tables, and the rules that must hold in it.
//!
//! 1. A product's stock is what it was at the beginning, and what came in, less what this program's orders took.
//! 2. No stock is negative.
//! 3. Every order has a detail at least; one that this program placed has exactly those that its header counts.
//! 4. No detail is without its order, and no header either.
//! 5. The rows that an order references (customer, employee, products) exist.

use crate::ids;
use crate::tables::{OrderDetail, PlacedOrder, Tables};
use seriatim::{Result, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

/// Result of an audit.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Orders that this program placed, in all runs.
    pub orders: u64,
    /// Their details.
    pub details: u64,
    /// Units that they sold.
    pub units: i64,
    /// Units that came in.
    pub restocked: i64,
    /// Orders that this program placed, by run.
    pub orders_of_run: BTreeMap<i64, u64>,
    /// Violations of the rules; at most [`MAX_VIOLATIONS`] are reported.
    pub violations: Vec<String>,
}

/// More would help nobody.
const MAX_VIOLATIONS: usize = 20;

impl Audit {
    /// Looks at everything.
    pub fn of(at: &Snapshot, tables: &Tables) -> Result<Audit> {
        let mut audit = Audit::default();
        let sold = audit.orders(at, tables)?;
        audit.stock(at, tables, &sold)?;
        Ok(audit)
    }

    fn violation(&mut self, what: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(what);
        }
    }

    /// Rules 3 to 5: orders, details and headers side by side, in the order of their numbers. Returns what was sold of each
    /// product.
    fn orders(&mut self, at: &Snapshot, tables: &Tables) -> Result<BTreeMap<i64, i64>> {
        let customers = tables.customers.iter(at).map(|c| Ok(c?.customer_id)).collect::<Result<BTreeSet<_>>>()?;
        let employees = tables.employees.iter(at).map(|e| Ok(e?.employee_id)).collect::<Result<BTreeSet<_>>>()?;
        let mut details = tables.details.iter(at).peekable();
        let mut headers = tables.placed.iter(at).peekable();
        let mut sold = BTreeMap::new();
        for order in tables.orders.iter(at) {
            let order = order?;
            let id = order.order_id;
            self.strays(&mut details, &mut headers, id)?;
            if !customers.contains(&order.customer_id) {
                self.violation(format!("order {id} is of customer {}, who does not exist", order.customer_id));
            }
            if !employees.contains(&order.employee_id) {
                self.violation(format!("order {id} is of employee {}, who does not exist", order.employee_id));
            }
            let mut lines = Vec::new();
            while let Some(detail) = next_of(&mut details, |detail| detail.order_id, id)? {
                lines.push(detail);
            }
            let header = next_of(&mut headers, |header| header.order_id, id)?;
            self.order(id, &lines, header.as_ref(), &mut sold);
        }
        self.strays(&mut details, &mut headers, i64::MAX)?;
        Ok(sold)
    }

    fn order(&mut self, id: i64, lines: &[OrderDetail], header: Option<&PlacedOrder>, sold: &mut BTreeMap<i64, i64>) {
        if lines.is_empty() {
            self.violation(format!("order {id} has no details"));
        }
        let Some(header) = header else {
            if ids::is_ours(id) {
                self.violation(format!("order {id} has no header"));
            }
            return;
        };
        let units: i64 = lines.iter().map(|line| line.quantity).sum();
        if (header.details, header.units) != (lines.len() as i64, units) {
            self.violation(format!(
                "order {id} is there by half: {} details with {units} units where its header counts {} with {}",
                lines.len(),
                header.details,
                header.units
            ));
        }
        for line in lines {
            *sold.entry(line.product_id).or_default() += line.quantity;
        }
        self.orders += 1;
        self.details += lines.len() as u64;
        self.units += units;
        *self.orders_of_run.entry(ids::run_of(id)).or_default() += 1;
    }

    /// Rule 4: whatever stands before the order `id` and belongs to none.
    fn strays(
        &mut self,
        details: &mut Peekable<impl Iterator<Item = Result<OrderDetail>>>,
        headers: &mut Peekable<impl Iterator<Item = Result<PlacedOrder>>>,
        id: i64,
    ) -> Result<()> {
        while let Some(stray) = next_below(details, |detail| detail.order_id, id)? {
            self.violation(format!("there is a detail of order {}, and no such order", stray.order_id));
        }
        while let Some(stray) = next_below(headers, |header| header.order_id, id)? {
            self.violation(format!("there is a header of order {}, and no such order", stray.order_id));
        }
        Ok(())
    }

    /// Rules 1 and 2.
    fn stock(&mut self, at: &Snapshot, tables: &Tables, sold: &BTreeMap<i64, i64>) -> Result<()> {
        let mut came_in: BTreeMap<i64, i64> = BTreeMap::new();
        for restock in tables.restocks.iter(at) {
            let restock = restock?;
            self.restocked += restock.units;
            *came_in.entry(restock.product_id).or_default() += restock.units;
        }
        let mut products = BTreeSet::new();
        for product in tables.products.iter(at) {
            let product = product?;
            let (id, stock) = (product.product_id, product.units_in_stock);
            products.insert(id);
            if stock < 0 {
                self.violation(format!("product {id} has a stock of {stock}"));
            }
            let Some(initial) = tables.initial.get(at, id)? else {
                self.violation(format!("product {id} has no initial stock"));
                continue;
            };
            let change = came_in.get(&id).unwrap_or(&0) - sold.get(&id).unwrap_or(&0);
            if stock != initial.units + change {
                self.violation(format!(
                    "product {id} has a stock of {stock}, and it should be {}: {} at the beginning, {change} since",
                    initial.units + change,
                    initial.units
                ));
            }
        }
        for (product, _) in sold.iter().chain(&came_in).filter(|(product, _)| !products.contains(product)) {
            self.violation(format!("product {product} was sold or came in, and does not exist"));
        }
        Ok(())
    }
}

/// The next item if its number is `id`.
fn next_of<T>(
    items: &mut Peekable<impl Iterator<Item = Result<T>>>,
    number: impl Fn(&T) -> i64,
    id: i64,
) -> Result<Option<T>> {
    items.next_if(|item| item.as_ref().map_or(true, |item| number(item) == id)).transpose()
}

/// The next item if its number is below `id`.
fn next_below<T>(
    items: &mut Peekable<impl Iterator<Item = Result<T>>>,
    number: impl Fn(&T) -> i64,
    id: i64,
) -> Result<Option<T>> {
    items.next_if(|item| item.as_ref().map_or(true, |item| number(item) < id)).transpose()
}
