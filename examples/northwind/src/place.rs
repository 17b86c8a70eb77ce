//! Placing an order, and restocking.

use crate::tables::{Order, OrderDetail, PlacedOrder, Restock, Tables};
use env::Randomness;
use seriatim::{Database, Date, Error, Result, Transaction};

/// Customers, employees and products for orders, read once at the start.
#[derive(Debug)]
pub struct Catalogue {
    customers: Vec<String>,
    employees: Vec<i64>,
    products: Vec<i64>,
    today: Date,
}

impl Catalogue {
    /// Reads it.
    pub fn read(db: &Database, tables: &Tables, today: Date) -> Result<Catalogue> {
        db.read(|at| {
            let on_sale = |product: &crate::tables::Product| !product.discontinued;
            Ok(Catalogue {
                customers: tables.customers.iter(at).map(|row| Ok(row?.customer_id)).collect::<Result<_>>()?,
                employees: tables.employees.iter(at).map(|row| Ok(row?.employee_id)).collect::<Result<_>>()?,
                products: tables
                    .products
                    .iter(at)
                    .filter(|row| row.as_ref().map_or(true, on_sale))
                    .map(|row| Ok(row?.product_id))
                    .collect::<Result<_>>()?,
                today,
            })
        })
    }

    /// Returns whether no orders can be made.
    pub fn is_empty(&self) -> bool {
        self.customers.is_empty() || self.employees.is_empty() || self.products.is_empty()
    }

    /// Drafts a random order of one to five products.
    pub fn draft(&self, order_id: i64, randomness: &mut Randomness) -> Draft {
        let mut one_of = |count: usize| randomness.in_range(0..count as u64) as usize;
        let customer_id = self.customers[one_of(self.customers.len())].clone();
        let employee_id = self.employees[one_of(self.employees.len())];
        let mut lines: Vec<(i64, i64)> = Vec::new();
        for _ in 0..1 + one_of(5) {
            let (product, quantity) = (self.products[one_of(self.products.len())], 1 + one_of(5) as i64);
            if !lines.iter().any(|(other, _)| *other == product) {
                lines.push((product, quantity));
            }
        }
        Draft { order_id, customer_id, employee_id, lines, today: self.today }
    }
}

/// An order that somebody wants to place.
#[derive(Clone, Debug)]
pub struct Draft {
    pub order_id: i64,
    customer_id: String,
    employee_id: i64,
    /// Product and quantity; no product twice.
    lines: Vec<(i64, i64)>,
    today: Date,
}

impl Draft {
    /// Returns the number of details.
    pub fn details(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Returns the number of units.
    pub fn units(&self) -> i64 {
        self.lines.iter().map(|(_, quantity)| quantity).sum()
    }
}

/// Why an order was not placed.
#[derive(Debug)]
pub enum Refused {
    /// This product is short.
    Short(i64),
    /// The database said no.
    Database(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Database(error)
    }
}

/// Checks the stock, takes it, and inserts the order, its details and its header: all of it or nothing.
pub fn place(txn: &mut Transaction, tables: &Tables, draft: &Draft) -> Result<(), Refused> {
    let id = draft.order_id;
    let customer =
        tables.customers.get(txn, &draft.customer_id)?.ok_or_else(|| gone("customer", &draft.customer_id))?;
    if !tables.employees.contains(txn, draft.employee_id)? {
        return Err(gone("employee", draft.employee_id).into());
    }
    for &(product_id, quantity) in &draft.lines {
        let mut product = tables.products.get(txn, product_id)?.ok_or_else(|| gone("product", product_id))?;
        if product.units_in_stock < quantity {
            return Err(Refused::Short(product_id));
        }
        product.units_in_stock -= quantity;
        tables.products.put(txn, &product)?;
        let unit_price = product.unit_price;
        tables.details.insert(txn, &OrderDetail { order_id: id, product_id, unit_price, quantity, discount: 0.0 })?;
    }
    let order = Order {
        order_id: id,
        customer_id: draft.customer_id.clone(),
        employee_id: draft.employee_id,
        order_date: Some(draft.today),
        required_date: Some(Date { days: draft.today.days + 28 }),
        shipped_date: None,
        ship_via: None,
        freight: None,
        ship_name: Some(customer.company_name),
        ship_address: customer.address,
        ship_city: customer.city,
        ship_region: customer.region,
        ship_postal_code: customer.postal_code,
        ship_country: customer.country,
    };
    tables.orders.insert(txn, &order)?;
    let header = PlacedOrder { order_id: id, details: draft.details() as i64, units: draft.units() };
    Ok(tables.placed.insert(txn, &header)?)
}

/// Lets units of a product come in.
pub fn restock(txn: &mut Transaction, tables: &Tables, restock: &Restock) -> Result<()> {
    let product = tables.products.update(txn, restock.product_id, |p| p.units_in_stock += restock.units)?;
    product.ok_or_else(|| gone("product", restock.product_id))?;
    tables.restocks.insert(txn, restock)
}

/// Error for a missing row: no transaction deletes from these tables.
fn gone(what: &str, id: impl std::fmt::Display) -> Error {
    Error::body(format!("{what} {id} is gone"))
}
