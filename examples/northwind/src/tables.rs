//! The tables: Northwind's eight, and four of the program's own by which it can be audited.

use seriatim::{Database, Date, Table, record};

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
    /// Stock of a product when the tables were loaded.
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
        /// Source of the tables.
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
