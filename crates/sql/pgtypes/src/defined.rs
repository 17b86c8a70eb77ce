//! Types that statements have defined, as far as the statement on this thread has met them.
//!
//! A [`Type`] names such a type by its identifier alone, and a value of it carries what it is printed and compared
//! by ([`Label`]). Only who reads a value (from text, or from storage) or names a type needs the definition, and finds it here:
//! a pure function has no other way to the catalog. A host begins each statement with the definitions that its transaction has
//! read, and adds those that it reads later ([`begin_statement`], [`add`]).

use crate::error::{Error, Result, state};
use crate::identifier::quote_identifier;
use crate::label::Label;
use crate::{CompositeShape, Modifier, RowShape, Type};
use smol_str::SmolStr;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The type's identifier.
    pub oid: u32,
    /// Its schema's name.
    pub schema: SmolStr,
    /// Its name.
    pub name: SmolStr,
    /// The labels of an enum, in its order.
    pub labels: Vec<Arc<Label>>,
    /// The attributes of a composite type, in order.
    pub attributes: Vec<Attribute>,
    /// What the values of a composite type say of themselves.
    pub shape: Arc<RowShape>,
}

/// An attribute of a composite type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: SmolStr,
    /// Its type.
    pub data_type: Type,
    /// The type's modifier.
    pub modifier: Modifier,
    /// Its place in what is stored, from 0. Places of dropped attributes are not given again.
    pub place: u16,
    /// The domain that it is of: who makes a value applies its rules.
    pub domain: Option<u32>,
}

/// Definitions by identifier, and the schemas in which types are found without naming them.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// The definitions.
    pub types: HashMap<u32, Arc<Definition>>,
    /// The schemas.
    pub search_path: Arc<[String]>,
}

thread_local! {
    static KNOWN: RefCell<Definitions> = RefCell::default();
}

/// Begins a statement on this thread that knows these definitions.
pub fn begin_statement(known: Definitions) {
    KNOWN.set(known);
}

/// Adds a definition, or replaces an older version of it.
pub fn add(definition: Arc<Definition>) {
    KNOWN.with_borrow_mut(|known| known.types.insert(definition.oid, definition));
}

/// Returns the definition of a type.
pub fn find(oid: u32) -> Option<Arc<Definition>> {
    KNOWN.with_borrow(|known| known.types.get(&oid).cloned())
}

/// The identifier of the array of a type that a statement has defined. Such types are numbered upwards from 16,384; this range is
/// far above.
pub const fn array_of(oid: u32) -> u32 {
    ARRAY | oid
}

/// The type of whose arrays this is the identifier, if it is in the range of such.
pub const fn element_of(array: u32) -> Option<u32> {
    if array & ARRAY == ARRAY { Some(array & !ARRAY) } else { None }
}

/// The identifier of the type of a relation's rows.
pub const fn row_of(relation: u32) -> u32 {
    ROW | relation
}

/// The relation of whose rows this is the type, if it is in the range of such.
pub const fn relation_of(row_type: u32) -> Option<u32> {
    if row_type & (ROW | ARRAY) == ROW { Some(row_type & !ROW) } else { None }
}

const ARRAY: u32 = 0x4000_0000;
const ROW: u32 = 0x8000_0000;

/// The name of a type as SQL writes it: with its schema, unless the type is found without.
pub(crate) fn shown_name(oid: u32) -> String {
    KNOWN.with_borrow(|known| match known.types.get(&oid) {
        None => "???".to_owned(),
        Some(found) => {
            let name = quote_identifier(&found.name);
            let is_first = |schema: &str| {
                !known
                    .types
                    .values()
                    .any(|other| other.schema == schema && other.name == found.name && other.oid != oid)
            };
            let before = known.search_path.iter().map_while(|schema| is_first(schema).then_some(schema));
            match before.into_iter().any(|schema| *schema == found.schema) {
                true => name.into_owned(),
                false => format!("{}.{name}", quote_identifier(&found.schema)),
            }
        }
    })
}

impl Definition {
    /// A composite type with these attributes.
    pub fn composite(oid: u32, schema: SmolStr, name: SmolStr, attributes: Vec<Attribute>) -> Definition {
        let shape = Arc::new(RowShape {
            fields: attributes.iter().map(|attribute| (attribute.name.clone(), attribute.data_type)).collect(),
            composite: Some(CompositeShape {
                oid,
                places: attributes.iter().map(|attribute| attribute.place).collect(),
            }),
        });
        Definition { oid, schema, name, labels: Vec::new(), attributes, shape }
    }

    /// Returns the label of this rank.
    pub fn label_of_rank(&self, rank: &[u8]) -> Option<&Arc<Label>> {
        self.labels.binary_search_by(|label| (*label.rank).cmp(rank)).ok().map(|at| &self.labels[at])
    }
}

/// The error of a type that the statement has not met.
pub(crate) fn unknown(oid: u32) -> Error {
    Error::new(state::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
}

/// Returns the value of an enum with this label.
///
/// # Errors
/// 22P02
pub(crate) fn label(oid: u32, text: &str) -> Result<Arc<Label>> {
    let found = find(oid).and_then(|found| found.labels.iter().find(|label| label.name == text).cloned());
    found.ok_or_else(|| {
        let message = format!("invalid input value for enum {}: \"{text}\"", shown_name(oid));
        Error::new(state::INVALID_TEXT_REPRESENTATION, message)
    })
}

/// Returns the value of an enum that is stored as this rank; `None` if the enum has none of it.
pub fn label_of_rank(oid: u32, rank: &[u8]) -> Option<Arc<Label>> {
    KNOWN.with_borrow(|known| known.types.get(&oid)?.label_of_rank(rank).cloned())
}
