//! The tables: Northwind's eight, and four of the program's own by which it can be audited.

use crate::csv_table::{CsvTable, Dialect};
use crate::failure::{Failure, Outcome};
use crate::orders::sample;
use seriatim::{Database, Date, Error, Record, Schema, Snapshot, Table, Transaction, Value, record};
use std::fmt;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

record! {
    #[derive(Debug)]
    pub struct Category {
        pub category_id: i64,
        pub category_name: String,
        pub description: Option<String>,
    }
    table "categories";
    key (category_id);
}

record! {
    #[derive(Debug)]
    pub struct Customer {
        pub customer_id: String,
        pub company_name: String,
        pub contact_name: Option<String>,
        pub contact_title: Option<String>,
        pub address: Option<String>,
        pub city: Option<String>,
        pub region: Option<String>,
        pub postal_code: Option<String>,
        pub country: Option<String>,
        pub phone: Option<String>,
        pub fax: Option<String>,
    }
    table "customers";
    key (customer_id);
}

record! {
    #[derive(Debug)]
    pub struct Employee {
        pub employee_id: i64,
        pub last_name: String,
        pub first_name: String,
        pub title: Option<String>,
        pub title_of_courtesy: Option<String>,
        pub birth_date: Option<Date>,
        pub hire_date: Option<Date>,
        pub address: Option<String>,
        pub city: Option<String>,
        pub region: Option<String>,
        pub postal_code: Option<String>,
        pub country: Option<String>,
        pub home_phone: Option<String>,
        pub extension: Option<String>,
        pub notes: Option<String>,
        pub reports_to: Option<i64>,
        pub photo_path: Option<String>,
    }
    table "employees";
    key (employee_id);
}

record! {
    #[derive(Debug)]
    pub struct OrderDetail {
        pub order_id: i64,
        pub product_id: i64,
        pub unit_price: f64,
        pub quantity: i64,
        pub discount: f64,
    }
    table "order_details";
    key (order_id, product_id);
    index by_product (product_id);
}

record! {
    #[derive(Debug)]
    pub struct Order {
        pub order_id: i64,
        pub customer_id: String,
        pub employee_id: i64,
        pub order_date: Option<Date>,
        pub required_date: Option<Date>,
        pub shipped_date: Option<Date>,
        pub ship_via: Option<i64>,
        pub freight: Option<f64>,
        pub ship_name: Option<String>,
        pub ship_address: Option<String>,
        pub ship_city: Option<String>,
        pub ship_region: Option<String>,
        pub ship_postal_code: Option<String>,
        pub ship_country: Option<String>,
    }
    table "orders";
    key (order_id);
    index by_customer (customer_id);
}

record! {
    #[derive(Debug)]
    pub struct Product {
        pub product_id: i64,
        pub product_name: String,
        pub supplier_id: Option<i64>,
        pub category_id: Option<i64>,
        pub quantity_per_unit: Option<String>,
        pub unit_price: f64,
        pub units_in_stock: i64,
        pub units_on_order: i64,
        pub reorder_level: i64,
        pub discontinued: bool,
    }
    table "products";
    key (product_id);
}

record! {
    #[derive(Debug)]
    pub struct Shipper {
        pub shipper_id: i64,
        pub company_name: String,
        pub phone: Option<String>,
    }
    table "shippers";
    key (shipper_id);
}

record! {
    #[derive(Debug)]
    pub struct Supplier {
        pub supplier_id: i64,
        pub company_name: String,
        pub contact_name: Option<String>,
        pub contact_title: Option<String>,
        pub address: Option<String>,
        pub city: Option<String>,
        pub region: Option<String>,
        pub postal_code: Option<String>,
        pub country: Option<String>,
        pub phone: Option<String>,
        pub fax: Option<String>,
        pub homepage: Option<String>,
    }
    table "suppliers";
    key (supplier_id);
}

record! {
    /// Beside each order that this program placed: how much belongs to it, so that half an order shows.
    #[derive(Debug)]
    pub struct PlacedOrder {
        pub order_id: i64,
        pub details: i64,
        pub units: i64,
    }
    table "placed_orders";
    key (order_id);
}

record! {
    /// Units that came in.
    #[derive(Debug)]
    pub struct Restock {
        pub restock_id: i64,
        pub product_id: i64,
        pub units: i64,
    }
    table "restocks";
    key (restock_id);
}

record! {
    /// What was in stock when the tables were loaded.
    #[derive(Debug)]
    pub struct InitialStock {
        pub product_id: i64,
        pub units: i64,
    }
    table "initial_stock";
    key (product_id);
}

record! {
    /// Each start of the program; number 0 is the loading.
    #[derive(Debug)]
    pub struct Run {
        pub run: i64,
        /// `fsync`, `async` or `none`: what an acknowledgement of that run was worth.
        pub durability: String,
        /// Where the tables came from.
        pub source: String,
    }
    table "runs";
    key (run);
}

/// Handles of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub categories: Table<Category>,
    pub customers: Table<Customer>,
    pub employees: Table<Employee>,
    pub details: Table<OrderDetail>,
    pub orders: Table<Order>,
    pub products: Table<Product>,
    pub shippers: Table<Shipper>,
    pub suppliers: Table<Supplier>,
    pub placed: Table<PlacedOrder>,
    pub restocks: Table<Restock>,
    pub initial: Table<InitialStock>,
    pub runs: Table<Run>,
}

impl Tables {
    /// Opens the tables; creates those that are missing.
    pub fn open(db: &Database) -> seriatim::Result<Tables> {
        Ok(Tables {
            categories: db.table()?,
            customers: db.table()?,
            employees: db.table()?,
            details: db.table()?,
            orders: db.table()?,
            products: db.table()?,
            shippers: db.table()?,
            suppliers: db.table()?,
            placed: db.table()?,
            restocks: db.table()?,
            initial: db.table()?,
            runs: db.table()?,
        })
    }
}

/// Where Northwind's tables come from.
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

/// The rows of a file, with their lines.
type Lines = Vec<(u64, Vec<Value>)>;

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

    fn rows<R: Record>(&self) -> Outcome<Lines> {
        let schema = R::schema().build().map_err(Failure::trouble)?;
        let (name, file) = self.open(schema.name())?;
        let mut rows = Vec::new();
        let mut table = CsvTable::open(&name, file, &schema, &Dialect::default())?;
        while let Some(row) = table.next()? {
            rows.push(row);
        }
        Ok(rows)
    }

    /// All rows, by table; everything that can be wrong with the files shows here, before anything is written.
    fn read(&self) -> Outcome<Vec<(Schema, Lines)>> {
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

/// Whether what rows name is there.
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
