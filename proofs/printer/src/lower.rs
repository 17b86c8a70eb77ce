//! From what Coq extracts to the fragment, or a refusal.

use std::collections::{BTreeMap, BTreeSet};

use crate::extraction::{self as coq, Declaration, Expression, Extraction};
use crate::ir::{Definition, Expr, Function, Type};
use crate::names;
use crate::primitives::type_named;
use crate::program::Program;
use crate::refusal::{Reason, Result};
use walk::bound_names;

mod expressions;
mod walk;

/// The program that `roots` reach.
pub fn lower(extraction: &Extraction, roots: &[String]) -> Result<Program> {
    let mut lowering = Lowering::of(extraction)?;
    for root in roots {
        lowering.function(root, root)?;
    }
    Ok(lowering.program)
}

/// A constructor, as its users need it.
#[derive(Clone, Copy)]
struct Constructed<'a> {
    /// Its type.
    ty: &'a str,
    /// Is it the only one?
    alone: bool,
    arity: usize,
}

struct Lowering<'a> {
    declared: BTreeMap<&'a str, &'a Declaration>,
    recursive: BTreeSet<&'a str>,
    constructors: BTreeMap<&'a str, Constructed<'a>>,
    /// Names of the fields of each record, by its constructor and their index.
    fields: BTreeMap<String, BTreeMap<usize, String>>,
    /// What is being lowered, to notice recursion.
    open: BTreeSet<String>,
    program: Program,
}

/// One function's variables.
struct Scope<'a> {
    /// The function, for refusals.
    place: &'a str,
    /// All that are bound anywhere in it.
    bound: BTreeSet<String>,
    types: BTreeMap<String, Type>,
}

impl<'a> Lowering<'a> {
    fn of(extraction: &'a Extraction) -> Result<Lowering<'a>> {
        let mut lowering = Lowering {
            declared: BTreeMap::new(),
            recursive: BTreeSet::new(),
            constructors: BTreeMap::new(),
            fields: BTreeMap::new(),
            open: BTreeSet::new(),
            program: Program::default(),
        };
        for declaration in &extraction.declarations {
            lowering.declare(declaration);
        }
        for declaration in &extraction.declarations {
            if let Declaration::Term { value, .. } = declaration {
                lowering.note_fields(value);
            }
        }
        Ok(lowering)
    }

    fn declare(&mut self, declaration: &'a Declaration) {
        match declaration {
            Declaration::Alias { name, .. } | Declaration::Term { name, .. } => {
                self.declared.insert(name, declaration);
            }
            Declaration::Inductive { name, constructors, .. } => {
                self.declared.insert(name, declaration);
                for one in constructors {
                    let constructed =
                        Constructed { ty: name, alone: constructors.len() == 1, arity: one.argtypes.len() };
                    self.constructors.insert(&one.name, constructed);
                }
            }
            Declaration::Fixpoints { fixlist } => self.recursive.extend(fixlist.iter().map(|one| one.name.as_str())),
            Declaration::Other => {}
        }
    }

    // --- Fields. The extraction has no names of fields, but writes `field r` as `match r with C _ field _ => field`.

    /// The constructor, index and name of the field that a projection reads, and what it reads it from.
    fn projection<'e>(&self, expression: &'e Expression) -> Option<(&'e str, usize, &'e str, &'e Expression)> {
        let Expression::Case { expr, cases } = expression else { return None };
        let [
            coq::Case { pat: coq::Pattern::Constructor { name, argnames }, body: Expression::Variable { name: read } },
        ] = cases.as_slice()
        else {
            return None;
        };
        let mut named = argnames.iter().enumerate().filter(|(_, name)| *name != "_");
        let (index, field) = named.next()?;
        let only = named.next().is_none() && field == read && self.constructors.get(name.as_str())?.alone;
        only.then_some((name, index, field, expr))
    }

    fn note_fields(&mut self, expression: &Expression) {
        if let Some((constructor, index, field, _)) = self.projection(expression) {
            let known = self.fields.entry(constructor.to_owned()).or_default().entry(index).or_insert(field.to_owned());
            // Where the name was taken by another variable, Coq has put a number behind it.
            if field.len() < known.len() {
                *known = field.to_owned();
            }
        }
        match expression {
            Expression::Let { nameval, body, .. } => {
                self.note_fields(nameval);
                self.note_fields(body);
            }
            Expression::Lambda { body, .. } => self.note_fields(body),
            Expression::Apply { func, args } => {
                self.note_fields(func);
                args.iter().for_each(|argument| self.note_fields(argument));
            }
            Expression::Construct { args, .. } => args.iter().for_each(|argument| self.note_fields(argument)),
            Expression::Case { expr, cases } => {
                self.note_fields(expr);
                cases.iter().for_each(|case| self.note_fields(&case.body));
            }
            Expression::Variable { .. } | Expression::Global { .. } | Expression::Other => {}
        }
    }

    /// The printed name of a record's field.
    fn field_name(&self, constructor: &str, index: usize, place: &str) -> Result<String> {
        let known = self.fields.get(constructor).and_then(|fields| fields.get(&index));
        let name = known.ok_or_else(|| Reason::UnnamedField(index).of(place))?;
        Ok(names::field(constructor, name))
    }

    // --- Types.

    fn ty(&mut self, ty: &coq::Type, place: &str) -> Result<Type> {
        let coq::Type::Global { name, args } = ty else {
            return Err(Reason::UnknownType("of a function".into()).of(place));
        };
        let mut arguments = args.iter().map(|argument| self.ty(argument, place)).collect::<Result<Vec<_>>>()?;
        if let Some(primitive) = type_named(name) {
            return Ok(Type::Primitive(primitive, arguments));
        }
        match (name.as_str(), arguments.len()) {
            ("n", 0) => Ok(Type::Number),
            ("bool", 0) => Ok(Type::Boolean),
            ("option", 1) => Ok(Type::Option(Box::new(arguments.remove(0)))),
            ("list", 1) => Ok(Type::List(Box::new(arguments.remove(0)))),
            ("prod", 2) => {
                let second = arguments.remove(1);
                Ok(Type::Pair(Box::new(arguments.remove(0)), Box::new(second)))
            }
            (_, 0) => {
                self.definition(name, place)?;
                Ok(Type::Named(name.clone()))
            }
            _ => Err(Reason::UnknownType(name.clone()).of(place)),
        }
    }

    fn definition(&mut self, name: &str, place: &str) -> Result<()> {
        if self.program.types.contains_key(name) {
            return Ok(());
        }
        if !self.open.insert(name.to_owned()) {
            return Err(Reason::Recursion(name.to_owned()).of(place));
        }
        let definition = match self.declared.get(name).copied() {
            Some(Declaration::Alias { argnames, value: value @ coq::Type::Global { .. }, .. })
                if argnames.is_empty() =>
            {
                Definition::Alias(self.ty(value, name)?)
            }
            Some(Declaration::Inductive { argnames, constructors, .. }) if argnames.is_empty() => {
                self.inductive(name, constructors)?
            }
            Some(Declaration::Inductive { .. }) => return Err(Reason::Polymorphic.of(name)),
            _ => return Err(Reason::UnknownType(name.to_owned()).of(place)),
        };
        self.open.remove(name);
        self.program.types.insert(name.to_owned(), definition);
        Ok(())
    }

    fn inductive(&mut self, name: &str, constructors: &[coq::Constructor]) -> Result<Definition> {
        if let [record] = constructors {
            let mut fields = Vec::new();
            for (index, ty) in record.argtypes.iter().enumerate() {
                fields.push((self.field_name(&record.name, index, name)?, self.ty(ty, name)?));
            }
            self.program.constructors.insert(name.to_owned(), record.name.clone());
            return Ok(Definition::Struct(fields));
        }
        let mut variants = Vec::new();
        for one in constructors {
            if names::variant(name, &one.name).contains('_') {
                return Err(Reason::ConstructorName(one.name.clone()).of(name));
            }
            let types = one.argtypes.iter().map(|ty| self.ty(ty, name)).collect::<Result<_>>()?;
            variants.push((one.name.clone(), types));
        }
        Ok(Definition::Enum(variants))
    }

    // --- Functions.

    /// Lowers `name` and whatever it calls.
    fn function(&mut self, name: &str, place: &str) -> Result<()> {
        if self.program.functions.contains_key(name) {
            return Ok(());
        }
        if self.recursive.contains(name) {
            return Err(Reason::Recursion(name.to_owned()).of(place));
        }
        let Some(Declaration::Term { ty, value, .. }) = self.declared.get(name).copied() else {
            return Err(Reason::Undeclared(name.to_owned()).of(place));
        };
        let (parameters, body) = lambda(value);
        let (types, result) = self.signature(name, ty, parameters.len())?;
        let mut scope = Scope { place: name, bound: bound_names(value), types: BTreeMap::new() };
        self.distinct(&scope)?;
        let parameters: Vec<_> = parameters.iter().map(|one| self.local(one, &scope)).zip(types).collect();
        scope.types.extend(parameters.iter().cloned());
        let body = self.expr(body, &mut scope)?;
        let function = Function { name: name.to_owned(), parameters, result, body };
        self.program.functions.insert(name.to_owned(), function);
        Ok(())
    }

    /// The types of `arity` parameters and of the result.
    fn signature(&mut self, name: &str, ty: &coq::Type, arity: usize) -> Result<(Vec<Type>, Type)> {
        let (mut types, mut rest) = (Vec::new(), ty);
        for _ in 0..arity {
            let coq::Type::Arrow { left, right } = rest else { return Err(Reason::MissingParameters.of(name)) };
            types.push(self.ty(left, name)?);
            rest = right;
        }
        if matches!(rest, coq::Type::Arrow { .. }) {
            return Err(Reason::MissingParameters.of(name));
        }
        Ok((types, self.ty(rest, name)?))
    }

    /// A variable's name. Coq puts a 0 behind one that is also a type's; Rust keeps them apart.
    fn local(&self, name: &str, scope: &Scope) -> String {
        let stem = name.strip_suffix('0').unwrap_or(name);
        let is_type =
            matches!(self.declared.get(stem), Some(Declaration::Alias { .. } | Declaration::Inductive { .. }));
        if is_type && !scope.bound.contains(stem) { stem.to_owned() } else { name.to_owned() }
    }

    /// Refuses variables that Coq tells apart and Rust would not.
    fn distinct(&self, scope: &Scope) -> Result<()> {
        let mut printed = BTreeSet::new();
        for name in scope.bound.iter().filter(|name| *name != "_") {
            let name = names::variable(&self.local(name, scope));
            if !printed.insert(name.clone()) {
                return Err(Reason::SameName(name).of(scope.place));
            }
        }
        Ok(())
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.program.type_of(expr, &|name| self.program.functions.get(name).map_or(Type::Unknown, |f| f.result.clone()))
    }
}

/// Parameters and body; a constant has no parameters.
fn lambda(expression: &Expression) -> (&[String], &Expression) {
    match expression {
        Expression::Lambda { argnames, body } => (argnames, body),
        _ => (&[], expression),
    }
}
