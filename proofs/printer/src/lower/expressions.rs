//! Expressions and patterns.

use std::collections::BTreeSet;

use super::walk::mentioned_names;
use super::{Lowering, Scope, lambda};
use crate::extraction::{self as coq, Declaration, Expression};
use crate::ir::{Arm, Closure, Definition, Expr, Path, Pattern, Place, Type};
use crate::names;
use crate::primitives::{function_named, operator_named};
use crate::refusal::{Reason, Result};

impl Lowering<'_> {
    fn exprs(&mut self, expressions: &[Expression], scope: &mut Scope) -> Result<Vec<Expr>> {
        expressions.iter().map(|one| self.expr(one, scope)).collect()
    }

    fn boxed(&mut self, expression: &Expression, scope: &mut Scope) -> Result<Box<Expr>> {
        self.expr(expression, scope).map(Box::new)
    }

    pub(super) fn expr(&mut self, expression: &Expression, scope: &mut Scope) -> Result<Expr> {
        if let Some((constructor, index, _, from)) = self.projection(expression)
            && constructor != "Pair"
        {
            // The record's own type first: its fields must have names.
            let ty = self.constructors.get(constructor).map_or("", |constructed| constructed.ty);
            self.definition(ty, scope.place)?;
            let field = self.field_name(constructor, index, scope.place)?;
            return self.field(from, field, scope);
        }
        match expression {
            Expression::Variable { name } => {
                let root = self.local(name, scope);
                let ty = scope.types.get(&root).cloned().unwrap_or(Type::Unknown);
                Ok(Expr::Path(Place { path: Path { root, fields: vec![] }, of: ty.clone(), ty }))
            }
            Expression::Global { name } => self.call(name, &[], scope),
            Expression::Let { name, nameval, body } => {
                let value = self.expr(nameval, scope)?;
                let name = self.local(name, scope);
                let before = scope.types.insert(name.clone(), self.type_of(&value));
                let body = self.boxed(body, scope)?;
                scope.restore(&name, before);
                Ok(Expr::Let(name, Box::new(value), body))
            }
            Expression::Apply { func, args } => match &**func {
                Expression::Global { name } => self.call(name, args, scope),
                _ => Err(Reason::HigherOrder.of(scope.place)),
            },
            Expression::Construct { name, args } => self.construct(name, args, scope),
            Expression::Case { expr, cases } => self.case(expr, cases, scope),
            Expression::Lambda { .. } => Err(Reason::HigherOrder.of(scope.place)),
            Expression::Other => Err(Reason::Expression.of(scope.place)),
        }
    }

    fn field(&mut self, from: &Expression, field: String, scope: &mut Scope) -> Result<Expr> {
        let Expr::Path(Place { mut path, ty: of, .. }) = self.expr(from, scope)? else {
            return Err(Reason::FieldOfExpression.of(scope.place));
        };
        let ty = self.program.field(&of, &field).unwrap_or(Type::Unknown);
        path.fields.push(field);
        Ok(Expr::Path(Place { path, ty, of }))
    }

    fn call(&mut self, name: &str, args: &[Expression], scope: &mut Scope) -> Result<Expr> {
        let count = |expected: usize| {
            let reason = if args.is_empty() { Reason::HigherOrder } else { Reason::ArgumentCount(name.to_owned()) };
            if args.len() == expected { Ok(()) } else { Err(reason.of(scope.place)) }
        };
        if let Some(operator) = operator_named(name) {
            count(2)?;
            return Ok(Expr::Operator(operator, self.boxed(&args[0], scope)?, self.boxed(&args[1], scope)?));
        }
        if let Some(primitive) = function_named(name) {
            count(primitive.modes.len())?;
            return Ok(Expr::Primitive(primitive, self.exprs(args, scope)?));
        }
        match name {
            "negb" => {
                count(1)?;
                Ok(Expr::Not(self.boxed(&args[0], scope)?))
            }
            "fst" | "snd" => {
                count(1)?;
                let field = if name == "fst" { "0" } else { "1" };
                self.field(&args[0], field.to_owned(), scope)
            }
            "list_map" => {
                count(2)?;
                let list = self.expr(&args[1], scope)?;
                let closure = self.closure(&args[0], &list, None, scope)?;
                Ok(Expr::Map(Box::new(closure), Box::new(list)))
            }
            "list_fold_left" => {
                count(3)?;
                let (list, start) = (self.expr(&args[1], scope)?, self.expr(&args[2], scope)?);
                let closure = self.closure(&args[0], &list, Some(self.type_of(&start)), scope)?;
                Ok(Expr::Fold(Box::new(closure), Box::new(list), Box::new(start)))
            }
            _ => {
                self.function(name, scope.place)?;
                count(self.program.functions.get(name).map_or(0, |function| function.parameters.len()))?;
                Ok(Expr::Call(name.to_owned(), self.exprs(args, scope)?))
            }
        }
    }

    /// The first argument of map, or with an accumulator of fold: a lambda, or a function that lacks just these arguments.
    fn closure(
        &mut self,
        function: &Expression,
        list: &Expr,
        accumulator: Option<Type>,
        scope: &mut Scope,
    ) -> Result<Closure> {
        let element = self.program.element(&self.type_of(list));
        let types: Vec<Type> = accumulator.into_iter().chain([element.clone()]).collect();
        let expanded;
        let (parameters, body) = match function {
            Expression::Lambda { argnames, body } => (argnames.as_slice(), &**body),
            Expression::Global { .. } | Expression::Apply { .. } => {
                expanded = self.eta(function, types.len(), scope)?;
                lambda(&expanded)
            }
            _ => return Err(Reason::HigherOrder.of(scope.place)),
        };
        if parameters.len() != types.len() {
            return Err(Reason::HigherOrder.of(scope.place));
        }
        let parameters: Vec<String> = parameters.iter().map(|name| self.local(name, scope)).collect();
        let before: Vec<_> =
            parameters.iter().zip(types).map(|(name, ty)| scope.types.insert(name.clone(), ty)).collect();
        let body = self.expr(body, scope)?;
        for (name, ty) in parameters.iter().zip(before) {
            scope.restore(name, ty);
        }
        Ok(Closure { parameters, element, body })
    }

    /// `f a` as `fun x y => f a x y`, with the names that f itself gives to what is lacking.
    fn eta(&mut self, function: &Expression, lacking: usize, scope: &Scope) -> Result<Expression> {
        let (func, given) = match function {
            Expression::Apply { func, args } => (&**func, args.as_slice()),
            _ => (function, [].as_slice()),
        };
        let Expression::Global { name } = func else { return Err(Reason::HigherOrder.of(scope.place)) };
        let Some(Declaration::Term { value, .. }) = self.declared.get(name.as_str()).copied() else {
            return Err(Reason::Undeclared(name.clone()).of(scope.place));
        };
        let own = lambda(value).0;
        if own.len() != given.len() + lacking {
            return Err(Reason::ArgumentCount(name.clone()).of(scope.place));
        }
        let taken: BTreeSet<String> =
            given.iter().flat_map(mentioned_names).map(|name| names::variable(&self.local(&name, scope))).collect();
        let fresh = |name: &String| {
            let mut name = name.clone();
            while taken.contains(&names::variable(&name)) {
                name.push('\'');
            }
            name
        };
        let argnames: Vec<String> = own[given.len()..].iter().map(fresh).collect();
        let lacked = argnames.iter().map(|name| Expression::Variable { name: name.clone() });
        let args = given.iter().cloned().chain(lacked).collect();
        let body = Box::new(Expression::Apply { func: Box::new(func.clone()), args });
        Ok(Expression::Lambda { argnames, body })
    }

    fn construct(&mut self, name: &str, args: &[Expression], scope: &mut Scope) -> Result<Expr> {
        let refuse = |reason: Reason| Err(reason.of(scope.place));
        match (name, args) {
            ("N0" | "Npos", _) => {
                return number(name, args).map(Expr::Number).ok_or_else(|| Reason::BigNumber.of(scope.place));
            }
            ("True", []) => return Ok(Expr::Boolean(true)),
            ("False", []) => return Ok(Expr::Boolean(false)),
            ("None", []) => return Ok(Expr::None),
            ("Some", [inner]) => return Ok(Expr::Some(self.boxed(inner, scope)?)),
            ("Pair", [a, b]) => return Ok(Expr::Pair(self.boxed(a, scope)?, self.boxed(b, scope)?)),
            ("Nil", []) => return Ok(Expr::List(vec![])),
            ("Cons", [head, tail]) => {
                let head = self.expr(head, scope)?;
                let Expr::List(mut items) = self.expr(tail, scope)? else {
                    return Err(Reason::ListTail.of(scope.place));
                };
                items.insert(0, head);
                return Ok(Expr::List(items));
            }
            _ => {}
        }
        let Some(constructed) = self.constructors.get(name).copied() else {
            return refuse(Reason::Undeclared(name.to_owned()));
        };
        if constructed.arity != args.len() {
            return refuse(Reason::ConstructorCount(name.to_owned()));
        }
        self.definition(constructed.ty, scope.place)?;
        let arguments = self.exprs(args, scope)?;
        let ty = constructed.ty.to_owned();
        if !constructed.alone {
            return Ok(Expr::Variant(ty, name.to_owned(), arguments));
        }
        let mut fields = Vec::new();
        for (index, argument) in arguments.into_iter().enumerate() {
            fields.push((self.field_name(name, index, scope.place)?, argument));
        }
        Ok(Expr::Struct(ty, fields))
    }

    fn case(&mut self, scrutinee: &Expression, cases: &[coq::Case], scope: &mut Scope) -> Result<Expr> {
        let scrutinee = self.expr(scrutinee, scope)?;
        let ty = self.type_of(&scrutinee);
        if self.program.resolve(&ty) == &Type::Boolean {
            let (yes, no) = branches(cases).ok_or_else(|| Reason::Pattern("bool".into()).of(scope.place))?;
            return Ok(Expr::If(Box::new(scrutinee), self.boxed(yes, scope)?, self.boxed(no, scope)?));
        }
        let mut arms = Vec::new();
        for case in cases {
            let (pattern, types) = self.pattern(&case.pat, &ty, scope)?;
            let before: Vec<_> =
                types.into_iter().map(|(name, ty)| (scope.types.insert(name.clone(), ty), name)).collect();
            let body = self.expr(&case.body, scope)?;
            for (ty, name) in before {
                scope.restore(&name, ty);
            }
            arms.push(Arm { pattern, body });
        }
        Ok(Expr::Match(Box::new(scrutinee), arms))
    }

    /// A pattern, and the types of the variables that it binds.
    fn pattern(&mut self, pattern: &coq::Pattern, ty: &Type, scope: &Scope) -> Result<(Pattern, Vec<(String, Type)>)> {
        let (constructor, argnames) = match pattern {
            coq::Pattern::Constructor { name, argnames } => (name, argnames),
            coq::Pattern::Wild => return Ok((Pattern::Wild, vec![])),
            coq::Pattern::Other => return Err(Reason::Pattern("a variable".into()).of(scope.place)),
        };
        let names: Vec<String> = argnames.iter().map(|name| self.local(name, scope)).collect();
        match (constructor.as_str(), self.program.resolve(ty)) {
            ("None", _) => return Ok((Pattern::None, vec![])),
            ("Some", Type::Option(inner)) => {
                let name = names.into_iter().next().unwrap_or_else(|| "_".to_owned());
                let inner = (**inner).clone();
                return Ok((Pattern::Some(name.clone(), inner.clone()), vec![(name, inner)]));
            }
            ("Nil" | "Cons", _) => return Err(Reason::Pattern("a list".into()).of(scope.place)),
            ("N0" | "Npos" | "XH" | "XI" | "XO" | "O" | "S", _) => {
                return Err(Reason::Pattern("a number".into()).of(scope.place));
            }
            _ => {}
        }
        let Some(constructed) = self.constructors.get(constructor.as_str()).copied() else {
            return Err(Reason::Undeclared(constructor.clone()).of(scope.place));
        };
        if constructed.alone {
            return Err(Reason::RecordPattern(constructor.clone()).of(scope.place));
        }
        self.definition(constructed.ty, scope.place)?;
        let types = match self.program.types.get(constructed.ty) {
            Some(Definition::Enum(variants)) => {
                variants.iter().find(|(name, _)| name == constructor).map_or(vec![], |(_, types)| types.clone())
            }
            _ => vec![],
        };
        if types.len() != names.len() {
            return Err(Reason::ConstructorCount(constructor.clone()).of(scope.place));
        }
        let bound = names.iter().cloned().zip(types).filter(|(name, _)| name != "_").collect();
        Ok((Pattern::Variant(constructed.ty.to_owned(), constructor.clone(), names), bound))
    }
}

impl Scope<'_> {
    /// Forgets a variable, or returns to the one that it hid.
    fn restore(&mut self, name: &str, before: Option<Type>) {
        match before {
            Some(ty) => self.types.insert(name.to_owned(), ty),
            None => self.types.remove(name),
        };
    }
}

/// The bodies for true and for false.
fn branches(cases: &[coq::Case]) -> Option<(&Expression, &Expression)> {
    let body_of = |wanted: &str| {
        let takes = |pattern: &coq::Pattern| match pattern {
            coq::Pattern::Constructor { name, .. } => name == wanted,
            coq::Pattern::Wild => true,
            coq::Pattern::Other => false,
        };
        cases.iter().find(|case| takes(&case.pat)).map(|case| &case.body)
    };
    Some((body_of("True")?, body_of("False")?))
}

/// A binary number of Coq: `N0`, or `Npos` of `XH` (1), `XO p` (2p) or `XI p` (2p + 1).
fn number(name: &str, args: &[Expression]) -> Option<u64> {
    let inner = || match args {
        [Expression::Construct { name, args }] => number(name, args),
        _ => None,
    };
    match name {
        "N0" => Some(0),
        "XH" => Some(1),
        "Npos" => inner(),
        "XO" => inner()?.checked_mul(2),
        "XI" => inner()?.checked_mul(2)?.checked_add(1),
        _ => None,
    }
}
