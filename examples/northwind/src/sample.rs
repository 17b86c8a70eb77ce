//! A sample of Northwind's shape, for a machine that has no Northwind: the same tables and columns, about as many rows,
//! every reference in place, and the same on every machine.

use env::Randomness;

const CATEGORIES: usize = 8;
const CUSTOMERS: usize = 91;
const EMPLOYEES: usize = 9;
const ORDERS: usize = 830;
const PRODUCTS: usize = 77;
const SHIPPERS: usize = 6;
const SUPPLIERS: usize = 29;
const FIRST_ORDER: usize = 10_248;

/// The table as a CSV file.
///
/// # Panics
/// If Northwind has no table of this name.
pub fn csv(table: &str) -> Vec<u8> {
    // A generator for each table, so that one can change without the others.
    let mut draw = Draw(Randomness::from_seed(1996 + table.len() as u64 * 7919 + u64::from(table.as_bytes()[0])));
    let rows: Vec<Vec<String>> = match table {
        "categories" => (1..=CATEGORIES).map(|id| vec![id.to_string(), draw.name(), draw.sentence()]).collect(),
        "customers" => (1..=CUSTOMERS).map(|id| draw.contact(customer_id(id))).collect(),
        "employees" => (1..=EMPLOYEES).map(|id| draw.employee(id)).collect(),
        "order_details" => (0..ORDERS).flat_map(|order| draw.details(FIRST_ORDER + order)).collect(),
        "orders" => (0..ORDERS).map(|order| draw.order(order)).collect(),
        "products" => (1..=PRODUCTS).map(|id| draw.product(id)).collect(),
        "shippers" => (1..=SHIPPERS).map(|id| vec![id.to_string(), draw.company(), draw.phone()]).collect(),
        "suppliers" => (1..=SUPPLIERS)
            .map(|id| {
                let mut row = draw.contact(id.to_string());
                row.push(String::new());
                row
            })
            .collect(),
        _ => panic!("Northwind has no table {table}"),
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = header(table).split(',');
    let written = writer.write_record(header).and_then(|()| rows.iter().try_for_each(|row| writer.write_record(row)));
    written.expect("rows are as wide as the header, and memory takes them");
    writer.into_inner().expect("memory takes what is buffered")
}

fn header(table: &str) -> &'static str {
    match table {
        "categories" => "category_id,category_name,description",
        "customers" => {
            "customer_id,company_name,contact_name,contact_title,address,city,region,postal_code,country,phone,fax"
        }
        "employees" => {
            "employee_id,last_name,first_name,title,title_of_courtesy,birth_date,hire_date,address,city,region,postal_code,\
             country,home_phone,extension,notes,reports_to,photo_path"
        }
        "order_details" => "order_id,product_id,unit_price,quantity,discount",
        "orders" => {
            "order_id,customer_id,employee_id,order_date,required_date,shipped_date,ship_via,freight,ship_name,ship_address,\
             ship_city,ship_region,ship_postal_code,ship_country"
        }
        "products" => {
            "product_id,product_name,supplier_id,category_id,quantity_per_unit,unit_price,units_in_stock,units_on_order,\
             reorder_level,discontinued"
        }
        "shippers" => "shipper_id,company_name,phone",
        _ => {
            "supplier_id,company_name,contact_name,contact_title,address,city,region,postal_code,country,phone,fax,homepage"
        }
    }
}

/// Five letters, as Northwind has them.
fn customer_id(number: usize) -> String {
    let letter = |place: usize| char::from(b'A' + (number / 26usize.pow(place as u32) % 26) as u8);
    format!("CU{}{}{}", letter(2), letter(1), letter(0))
}

struct Draw(Randomness);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0.in_range(0..bound as u64) as usize
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn name(&mut self) -> String {
        let syllables = 2 + self.below(2);
        let parts = ["ka", "lo", "mi", "ren", "su", "tor", "ve", "an", "do", "bel", "gri", "ne"];
        let mut name: String = (0..syllables).map(|_| self.one_of(&parts)).collect();
        name[..1].make_ascii_uppercase();
        name
    }

    fn sentence(&mut self) -> String {
        let (a, b) = (self.name(), self.name());
        format!("{a}, {b}, and \"others\"")
    }

    fn company(&mut self) -> String {
        let name = self.name();
        format!("{name} {}", self.one_of(&["Trading", "& Sons", "Foods", "Import, Export"]))
    }

    fn phone(&mut self) -> String {
        format!("({:03}) 555-{:04}", self.below(1000), self.below(10_000))
    }

    /// Address, city, region (mostly none), postal code (some with a leading zero), country.
    fn place(&mut self) -> [String; 5] {
        let street = format!("{} {} St.", 1 + self.below(200), self.name());
        let region = if self.below(4) == 0 { self.name() } else { String::new() };
        let country = self.one_of(&["Germany", "France", "Mexico", "México", "Sweden"]).to_owned();
        [street, self.name(), region, format!("{:05}", self.below(100_000)), country]
    }

    fn contact(&mut self, id: String) -> Vec<String> {
        let mut row = vec![id, self.company(), self.name(), "Owner".into()];
        row.extend(self.place());
        row.extend([self.phone(), String::new()]);
        row
    }

    fn employee(&mut self, id: usize) -> Vec<String> {
        let mut row = vec![id.to_string(), self.name(), self.name(), "Sales Representative".into(), "Ms.".into()];
        row.extend([self.date(1950), self.date(1992)]);
        row.extend(self.place());
        let chief = if id == 2 { String::new() } else { "2".to_owned() };
        row.extend([self.phone(), self.below(10_000).to_string(), self.sentence(), chief, String::new()]);
        row
    }

    fn date(&mut self, year: usize) -> String {
        format!("{}-{:02}-{:02}", year + self.below(3), 1 + self.below(12), 1 + self.below(28))
    }

    fn order(&mut self, order: usize) -> Vec<String> {
        let customer = customer_id(1 + self.below(CUSTOMERS));
        let mut row = vec![(FIRST_ORDER + order).to_string(), customer, (1 + self.below(EMPLOYEES)).to_string()];
        let shipped = if order.is_multiple_of(40) { String::new() } else { self.date(1996) };
        row.extend([self.date(1996), self.date(1996), shipped, (1 + self.below(SHIPPERS)).to_string()]);
        row.extend([self.price(50_000), self.company()]);
        row.extend(self.place());
        row
    }

    fn details(&mut self, order: usize) -> Vec<Vec<String>> {
        let (first, count) = (self.below(PRODUCTS), 1 + self.below(4));
        // Consecutive products are different ones.
        (0..count)
            .map(|at| {
                let product = 1 + (first + at) % PRODUCTS;
                let discount = self.one_of(&["0", "0.05", "0.25"]).to_owned();
                vec![
                    order.to_string(),
                    product.to_string(),
                    self.price(10_000),
                    (1 + self.below(100)).to_string(),
                    discount,
                ]
            })
            .collect()
    }

    fn product(&mut self, id: usize) -> Vec<String> {
        let package = format!("{} boxes x {} bags", 1 + self.below(20), 1 + self.below(50));
        vec![
            id.to_string(),
            format!("{} {}", self.name(), id),
            (1 + self.below(SUPPLIERS)).to_string(),
            (1 + self.below(CATEGORIES)).to_string(),
            package,
            self.price(10_000),
            self.below(126).to_string(),
            (10 * self.below(8)).to_string(),
            (5 * self.below(7)).to_string(),
            usize::from(id % 10 == 5).to_string(),
        ]
    }

    fn price(&mut self, below_cents: usize) -> String {
        let cents = 1 + self.below(below_cents);
        format!("{}.{:02}", cents / 100, cents % 100)
    }
}
