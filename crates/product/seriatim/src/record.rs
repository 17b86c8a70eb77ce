//! Rust structs as rows.

use crate::SchemaBuilder;
use model::{Key, RowBuf, RowRef, Value};
use std::fmt;
use std::marker::PhantomData;

/// A struct that is a row of a table. Implemented by [`record!`](crate::record); its table is opened by
/// [`Database::table`](crate::Database::table).
pub trait Record: Sized + 'static {
    /// Type of the primary key: one field's type, or a tuple of several.
    type Key;
    /// The table's name.
    const TABLE: &'static str;

    /// Returns the table's schema. [`record!`](crate::record) does not check it; mistakes are reported when the table is opened.
    fn schema() -> SchemaBuilder;

    /// Values of fields in rows that were written before the record had them.
    fn defaults() -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// The record's primary key, encoded.
    fn key(&self) -> Key;

    /// Fills `row` with the record's columns.
    fn encode(&self, row: &mut RowBuf);

    /// The record in `row`; `None` if the row is not one (a number out of the field's range).
    fn decode(row: RowRef<'_>) -> Option<Self>;

    /// Whether a row of the right columns may not fit this record, since a field is narrower than its column
    /// ([`Field::NARROW`](crate::Field::NARROW)).
    const NARROW: bool = false;

    /// Returns the field, and its type, that cannot hold its value in `row`; `None` if all can.
    fn mismatch(row: RowRef<'_>) -> Option<(&'static str, &'static str)> {
        let _ = row;
        None
    }
}

/// A secondary index of a record's table, whose columns are `K`. Made by [`record!`](crate::record), used by
/// [`Table::by`](crate::Table::by).
pub struct Index<R, K> {
    number: u16,
    of: PhantomData<fn(R) -> K>,
}

impl<R: Record, K> Index<R, K> {
    /// The index at this position of [`Schema::indexes`](crate::Schema::indexes).
    pub const fn new(number: u16) -> Index<R, K> {
        Index { number, of: PhantomData }
    }

    /// Its position in [`Schema::indexes`](crate::Schema::indexes).
    pub const fn number(&self) -> u16 {
        self.number
    }
}

impl<R, K> Clone for Index<R, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, K> Copy for Index<R, K> {}

impl<R: Record, K> fmt::Debug for Index<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({}, {})", R::TABLE, self.number)
    }
}

/// Position of an index among those of a record; for [`record!`](crate::record), at compile time.
#[doc(hidden)]
pub const fn __index_number(all: &[&str], wanted: &str) -> u16 {
    let mut number = 0;
    while number < all.len() {
        if same(all[number].as_bytes(), wanted.as_bytes()) {
            return number as u16;
        }
        number += 1;
    }
    panic!("no such index")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    if a.len() != b.len() {
        return false;
    }
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Declares a struct whose values are the rows of a table, and implements [`Record`] for it.
///
/// Fields are [`Field`](crate::Field)s. A field with a default (`pub stock: i64 = 0`), or an `Option`, can be added after the
/// others later: existing rows get the default, or `None`. After the struct come the table's name, its key (one field or
/// several), and its indexes; each index becomes an associated function that names it for [`Table::by`](crate::Table::by).
///
/// ```
/// use seriatim::{record, Database, Error};
///
/// record! {
///     /// Something in stock.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Product {
///         /// Assigned by the supplier.
///         pub id: i64,
///         pub name: String,
///         pub stock: i64,
///         pub note: Option<String>,
///     }
///     table "products";
///     key (id);
///     index by_stock (stock);
///     unique by_name (name);
/// }
///
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let products = db.table::<Product>()?;
/// db.run(|txn| {
///     products.insert(txn, &Product { id: 1, name: "Chai".into(), stock: 39, note: None })?;
///     products.insert(txn, &Product { id: 2, name: "Chang".into(), stock: 17, note: None })
/// })?;
/// db.read(|snapshot| {
///     assert_eq!(products.get(snapshot, 1)?.unwrap().name, "Chai");
///     let scarce = products.by(Product::by_stock()).range(snapshot, ..20).next().unwrap()?;
///     assert_eq!(scarce.name, "Chang");
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty $(= $default:expr)? ),+ $(,)?
        }
        table $table:literal;
        key ($($key:ident),+ $(,)?);
        $( $(#[$index_meta:meta])* $kind:ident $index:ident ($($column:ident),+ $(,)?); )*
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field : $type ),+
        }

        const _: () = {
            // The only way for a declarative macro to find a field's type by its name: let the names be patterns.
            #[allow(unused_macros)]
            macro_rules! type_of {
                $( ($field) => { $type }; )+
            }

            #[allow(dead_code)]
            const INDEX_NAMES: &[&str] = &[$(stringify!($index)),*];

            impl $crate::Record for $name {
                type Key = $crate::__record_key!(type_of, $($key),+);
                const TABLE: &'static str = $table;

                fn schema() -> $crate::SchemaBuilder {
                    let schema = $crate::Schema::table($table);
                    $( let schema = <$type as $crate::Field>::declare(schema, stringify!($field)); )+
                    schema
                        .key([$(stringify!($key)),+])
                        $( .$kind(stringify!($index), [$(stringify!($column)),+]) )*
                }

                fn defaults() -> ::std::vec::Vec<(&'static str, $crate::Value)> {
                    #[allow(unused_mut)]
                    let mut defaults = ::std::vec::Vec::new();
                    $($(
                        let default: $type = $default;
                        defaults.push((stringify!($field), $crate::Field::as_value(&default).to_owned()));
                    )?)+
                    defaults
                }

                fn key(&self) -> $crate::Key {
                    let mut key = $crate::Key::new();
                    $( $crate::Field::append_to_key(&self.$key, &mut key); )+
                    key
                }

                fn encode(&self, row: &mut $crate::RowBuf) {
                    row.set_values([$( $crate::Field::as_value(&self.$field) ),+].into_iter());
                }

                const NARROW: bool = $( <$type as $crate::Field>::NARROW )||+;

                fn mismatch(row: $crate::RowRef<'_>) -> ::core::option::Option<(&'static str, &'static str)> {
                    let mut values = row.values();
                    $(
                        if values.next().and_then(<$type as $crate::Field>::from_value).is_none() {
                            return ::core::option::Option::Some((stringify!($field), stringify!($type)));
                        }
                    )+
                    ::core::option::Option::None
                }

                fn decode(row: $crate::RowRef<'_>) -> ::core::option::Option<Self> {
                    let mut values = row.values();
                    ::core::option::Option::Some($name {
                        $( $field: $crate::Field::from_value(values.next()?)? ),+
                    })
                }
            }

            #[allow(dead_code)]
            impl $name {
                $(
                    #[doc = concat!("The index `", stringify!($index), "`.")]
                    $(#[$index_meta])*
                    $vis const fn $index() -> $crate::Index<$name, $crate::__record_key!(type_of, $($column),+)> {
                        $crate::Index::new(const { $crate::__index_number(INDEX_NAMES, stringify!($index)) })
                    }
                )*
            }
        };
    };
}

/// One type, or a tuple of several.
#[doc(hidden)]
#[macro_export]
macro_rules! __record_key {
    ($type_of:ident, $one:ident) => { $type_of!($one) };
    ($type_of:ident, $($many:ident),+) => { ($($type_of!($many)),+) };
}
