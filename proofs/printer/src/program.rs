//! A model that lies in the fragment: its types and functions, in the order of Coq.

use std::collections::BTreeMap;

use crate::ir::{Closure, Definition, Expr, Function, Type};
use crate::names;
use crate::primitives::{Kind, Primitive, Returns, type_named};

/// Types and functions by their extracted names.
#[derive(Debug, Default)]
pub struct Program {
    /// Every type that a printed function names.
    pub types: BTreeMap<String, Definition>,
    /// Every function that a root reaches, and the roots.
    pub functions: BTreeMap<String, Function>,
    /// The constructor's name of each struct: unlike the type's it is never changed by the extraction.
    pub constructors: BTreeMap<String, String>,
}

impl Program {
    /// The printed name of a struct, an enum or an alias.
    pub fn type_name(&self, ty: &str) -> String {
        self.constructors.get(ty).cloned().unwrap_or_else(|| names::capitalized(ty))
    }

    /// The type behind its aliases.
    pub fn resolve<'a>(&'a self, ty: &'a Type) -> &'a Type {
        match ty {
            Type::Named(name) => match self.types.get(name) {
                Some(Definition::Alias(aliased)) => self.resolve(aliased),
                _ => ty,
            },
            _ => ty,
        }
    }

    /// How values of `ty` pass from hand to hand: as their worst part does.
    pub fn kind(&self, ty: &Type) -> Kind {
        match ty {
            Type::Number | Type::Boolean => Kind::Copied,
            Type::Primitive(primitive, _) => primitive.kind,
            Type::Named(name) => match self.types.get(name) {
                Some(Definition::Alias(aliased)) => self.kind(aliased),
                Some(Definition::Struct(fields)) => self.worst(fields.iter().map(|(_, ty)| ty)),
                Some(Definition::Enum(variants)) => self.worst(variants.iter().flat_map(|(_, types)| types)),
                None => Kind::Cloned,
            },
            Type::Option(inner) => self.kind(inner),
            Type::List(inner) => self.kind(inner).max(Kind::Cloned),
            Type::Pair(a, b) => self.kind(a).max(self.kind(b)),
            Type::Unknown => Kind::Cloned,
        }
    }

    fn worst<'a>(&self, types: impl Iterator<Item = &'a Type>) -> Kind {
        types.map(|ty| self.kind(ty)).max().unwrap_or(Kind::Copied)
    }

    /// The type of the field `field` of a struct or a pair.
    pub fn field(&self, ty: &Type, field: &str) -> Option<Type> {
        match self.resolve(ty) {
            Type::Pair(a, _) if field == "0" => Some((**a).clone()),
            Type::Pair(_, b) if field == "1" => Some((**b).clone()),
            Type::Named(name) => match self.types.get(name) {
                Some(Definition::Struct(fields)) => {
                    fields.iter().find(|(name, _)| name == field).map(|(_, ty)| ty.clone())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What a list or a map contains.
    pub fn element(&self, ty: &Type) -> Type {
        match self.resolve(ty) {
            Type::List(inner) => (**inner).clone(),
            Type::Primitive(_, arguments) => arguments.first().cloned().unwrap_or(Type::Unknown),
            _ => Type::Unknown,
        }
    }

    /// The type of an expression. Results of functions come from `result_of`, which knows those not lowered yet.
    pub fn type_of(&self, expr: &Expr, result_of: &dyn Fn(&str) -> Type) -> Type {
        let of = |expr: &Expr| self.type_of(expr, result_of);
        match expr {
            Expr::Path(place) => place.ty.clone(),
            Expr::Number(_) => Type::Number,
            Expr::Boolean(_) | Expr::Operator(..) | Expr::Not(_) => Type::Boolean,
            Expr::Call(name, _) => result_of(name),
            Expr::Primitive(primitive, arguments) => self.returned(primitive, arguments, &of),
            Expr::Let(_, _, body) => of(body),
            Expr::Variant(name, ..) | Expr::Struct(name, _) => Type::Named(name.clone()),
            Expr::Pair(a, b) => Type::Pair(Box::new(of(a)), Box::new(of(b))),
            Expr::Some(inner) => Type::Option(Box::new(of(inner))),
            Expr::None => Type::Option(Box::new(Type::Unknown)),
            Expr::List(items) => Type::List(Box::new(items.first().map_or(Type::Unknown, of))),
            Expr::Map(closure, _) => Type::List(Box::new(of(&closure.body))),
            Expr::Fold(_, _, start) => of(start),
            Expr::If(_, yes, no) => first_known([of(yes), of(no)]),
            Expr::Match(_, arms) => first_known(arms.iter().map(|arm| of(&arm.body))),
        }
    }

    fn returned(&self, primitive: &Primitive, arguments: &[Expr], of: &dyn Fn(&Expr) -> Type) -> Type {
        let named = |name, elements| type_named(name).map_or(Type::Unknown, |ty| Type::Primitive(ty, elements));
        let argument = |index: usize| arguments.get(index).map_or(Type::Unknown, of);
        match primitive.returns {
            Returns::Number => Type::Number,
            Returns::Boolean => Type::Boolean,
            Returns::Numbers => Type::List(Box::new(Type::Number)),
            Returns::Type(name) => named(name, vec![]),
            Returns::Empty(name) => named(name, vec![Type::Unknown]),
            Returns::Same(index) => argument(index),
            Returns::Element(index) => Type::Option(Box::new(self.element(&argument(index)))),
            Returns::Pairs(index) => {
                let element = self.element(&argument(index));
                Type::List(Box::new(Type::Pair(Box::new(Type::Number), Box::new(element))))
            }
        }
    }
}

/// The first type without holes; if all have some, the last.
fn first_known(types: impl IntoIterator<Item = Type>) -> Type {
    let mut last = Type::Unknown;
    for ty in types {
        if ty.is_known() {
            return ty;
        }
        last = ty;
    }
    last
}

impl Type {
    fn is_known(&self) -> bool {
        match self {
            Type::Unknown => false,
            Type::Primitive(_, arguments) => arguments.iter().all(Type::is_known),
            Type::Option(inner) | Type::List(inner) => inner.is_known(),
            Type::Pair(a, b) => a.is_known() && b.is_known(),
            Type::Number | Type::Boolean | Type::Named(_) => true,
        }
    }
}

impl Closure {
    /// The variable that stands for the list's element.
    pub fn element_name(&self) -> &str {
        self.parameters.last().map_or("", String::as_str)
    }
}
