//! Loading Northwind's tables, from files or from the sample.

use crate::csv_rows::{self, Line};
use crate::failure::{Failure, Outcome};
use crate::sample;
use crate::tables::{
    Category, Customer, Employee, InitialStock, Order, OrderDetail, Product, Run, Shipper, Supplier, Tables,
};
use seriatim::{Database, Error, Record, Schema, Snapshot, Transaction};
use std::fmt;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

/// Source of Northwind's tables.
#[derive(Clone, Debug)]
pub enum Source {
    /// CSV files, one for each table.
    Directory(PathBuf),
    /// A sample of the same shape that this program makes.
    Sample,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Directory(path) => write!(f, "{}", path.display()),
            Source::Sample => f.write_str("a generated sample"),
        }
    }
}

impl Source {
    fn open(&self, table: &str) -> Outcome<(String, Box<dyn Read>)> {
        match self {
            Source::Sample => Ok((format!("sample {table}"), Box::new(Cursor::new(sample::csv(table))))),
            Source::Directory(directory) => {
                let path = directory.join(format!("{table}.csv"));
                let file = File::open(&path).map_err(Failure::file(&path))?;
                Ok((path.display().to_string(), Box::new(file)))
            }
        }
    }

    fn rows<R: Record>(&self) -> Outcome<Vec<Line>> {
        let schema = R::schema().build().map_err(Failure::trouble)?;
        let (name, file) = self.open(schema.name())?;
        csv_rows::read(&name, file, &schema)
    }

    /// All rows, by table; everything that can be wrong with the files shows here, before anything is written.
    fn read(&self) -> Outcome<Vec<(Schema, Vec<Line>)>> {
        macro_rules! read {
            ($($record:ty),+) => {
                vec![$((<$record>::schema().build().map_err(Failure::trouble)?, self.rows::<$record>()?)),+]
            };
        }
        Ok(read!(Category, Customer, Employee, OrderDetail, Order, Product, Shipper, Supplier))
    }
}

/// Loads the tables in one transaction, so that a kill leaves all of it or nothing, and returns how many rows they have.
pub fn load(db: &Database, tables: &Tables, source: &Source) -> Outcome<u64> {
    let data = source.read()?;
    let mut targets = Vec::new();
    for (schema, rows) in &data {
        targets.push((db.open_table(schema.name())?, rows));
    }
    let loaded = db.run(|txn| {
        for (table, rows) in &targets {
            for (line, row) in *rows {
                table.insert(txn, &row[..]).map_err(|error| match error {
                    Error::Duplicate(_) | Error::Invalid(_) => {
                        Error::body(format!("{}, line {line}: {error}", table.name()))
                    }
                    other => other,
                })?;
            }
        }
        note_stock(txn, tables)?;
        check_references(txn, tables)?;
        let run = Run { run: 0, durability: "fsync".into(), source: source.to_string() };
        tables.runs.insert(txn, &run)?;
        Ok(targets.iter().map(|(_, rows)| rows.len() as u64).sum())
    });
    Ok(loaded?)
}

fn note_stock(txn: &mut Transaction, tables: &Tables) -> seriatim::Result<()> {
    let stocks: Vec<InitialStock> = tables
        .products
        .iter(txn)
        .map(|product| product.map(|p| InitialStock { product_id: p.product_id, units: p.units_in_stock }))
        .collect::<seriatim::Result<_>>()?;
    stocks.iter().try_for_each(|stock| tables.initial.insert(txn, stock))
}

/// Checks that the rows that other rows reference exist.
pub fn check_references(at: &Snapshot, tables: &Tables) -> seriatim::Result<()> {
    let need = |found: bool, what: &dyn fmt::Display| {
        if found { Ok(()) } else { Err(Error::body(format!("{what}, which does not exist"))) }
    };
    for product in tables.products.iter(at) {
        let product = product?;
        let id = product.product_id;
        if let Some(category) = product.category_id {
            let found = tables.categories.contains(at, category)?;
            need(found, &format_args!("product {id} is of category {category}"))?;
        }
        if let Some(supplier) = product.supplier_id {
            let found = tables.suppliers.contains(at, supplier)?;
            need(found, &format_args!("product {id} is of supplier {supplier}"))?;
        }
    }
    for employee in tables.employees.iter(at) {
        let employee = employee?;
        if let Some(chief) = employee.reports_to {
            let found = tables.employees.contains(at, chief)?;
            need(found, &format_args!("employee {} reports to employee {chief}", employee.employee_id))?;
        }
    }
    for order in tables.orders.iter(at) {
        let order = order?;
        let (id, customer, employee) = (order.order_id, &order.customer_id, order.employee_id);
        need(tables.customers.contains(at, customer)?, &format_args!("order {id} is of customer {customer}"))?;
        need(tables.employees.contains(at, employee)?, &format_args!("order {id} is of employee {employee}"))?;
        if let Some(shipper) = order.ship_via {
            need(tables.shippers.contains(at, shipper)?, &format_args!("order {id} goes by shipper {shipper}"))?;
        }
    }
    for detail in tables.details.iter(at) {
        let OrderDetail { order_id, product_id, .. } = detail?;
        need(tables.products.contains(at, product_id)?, &format_args!("order {order_id} names product {product_id}"))?;
        need(tables.orders.contains(at, order_id)?, &format_args!("a detail names order {order_id}"))?;
    }
    Ok(())
}
