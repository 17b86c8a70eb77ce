//! Who owns what: how functions take their parameters, and which paths an expression needs.
//!
//! A path is moved where it is needed last, and cloned where it is needed again. A parameter of which nothing is ever
//! taken becomes a reference. So does one that cannot be cloned (a map, a state) if only parts that can are taken from it.

use std::collections::BTreeMap;

use crate::ir::{Arm, Closure, Expr, Function, Path, Paths, Type};
use crate::primitives::{Kind, Mode, Returns};
use crate::program::Program;

/// One mention of a path.
#[derive(Clone, Debug)]
struct Use {
    path: Path,
    /// Set where the value is taken and is not `Copy`.
    taken: Option<Kind>,
}

/// The modes of all functions.
#[derive(Debug)]
pub struct Ownership<'a> {
    program: &'a Program,
    modes: BTreeMap<String, Vec<Mode>>,
}

impl<'a> Ownership<'a> {
    /// Decides for every function, callees first.
    pub fn of(program: &'a Program) -> Ownership<'a> {
        let mut ownership = Ownership { program, modes: BTreeMap::new() };
        for function in program.functions.values() {
            ownership.decide(function);
        }
        ownership
    }

    /// How `function` takes its parameters.
    pub fn modes(&self, function: &str) -> &[Mode] {
        self.modes.get(function).map_or(&[], Vec::as_slice)
    }

    fn decide(&mut self, function: &Function) {
        if self.modes.contains_key(&function.name) {
            return;
        }
        for callee in callees(&function.body) {
            if let Some(callee) = self.program.functions.get(&callee) {
                self.decide(callee);
            }
        }
        let uses = self.uses(&function.body, true);
        let modes = function.parameters.iter().map(|(name, ty)| self.mode(name, ty, &uses)).collect();
        self.modes.insert(function.name.clone(), modes);
    }

    fn mode(&self, name: &str, ty: &Type, uses: &[Use]) -> Mode {
        let kind = self.program.kind(ty);
        let mut own = uses.iter().filter(|one| one.path.root == name).peekable();
        if kind == Kind::Copied || own.peek().is_none() {
            return Mode::Owned;
        }
        let must_own = own.any(|one| one.taken.is_some_and(|taken| taken >= kind));
        if must_own { Mode::Owned } else { Mode::Borrowed }
    }

    /// The paths that an expression needs, all of them.
    pub fn needed(&self, expr: &Expr) -> Paths {
        self.uses(expr, true).into_iter().map(|one| one.path).collect()
    }

    /// Is the whole of the variable `name` taken in `expr`, which does not bind it?
    pub fn takes_whole(&self, expr: &Expr, name: &str) -> bool {
        self.uses(expr, true)
            .iter()
            .any(|one| one.path.root == name && one.path.fields.is_empty() && one.taken.is_some())
    }

    /// Does map or fold take the elements of its list, rather than look at them?
    pub fn takes_elements(&self, closure: &Closure, list: &Expr) -> bool {
        let element = closure.element_name();
        let takes = || self.uses(&closure.body, true).iter().any(|one| one.path.root == element && one.taken.is_some());
        !matches!(list, Expr::Path(..)) || takes()
    }

    fn uses(&self, expr: &Expr, taking: bool) -> Vec<Use> {
        match expr {
            Expr::Path(place) => {
                let kind = self.program.kind(&place.ty);
                vec![Use { path: place.path.clone(), taken: (taking && kind != Kind::Copied).then_some(kind) }]
            }
            Expr::Number(_) | Expr::Boolean(_) | Expr::None => vec![],
            Expr::Call(name, arguments) => self.arguments(self.modes(name), arguments),
            Expr::Primitive(primitive, arguments) => self.arguments(primitive.modes, arguments),
            Expr::Operator(_, a, b) | Expr::Pair(a, b) => self.all([&**a, &**b]),
            Expr::Not(inner) | Expr::Some(inner) => self.uses(inner, true),
            Expr::Let(name, value, body) => {
                let mut uses = self.uses(value, true);
                uses.extend(without(self.uses(body, true), [name]));
                uses
            }
            Expr::Variant(_, _, arguments) | Expr::List(arguments) => self.all(arguments),
            Expr::Struct(_, fields) => self.all(fields.iter().map(|(_, value)| value)),
            Expr::Map(closure, list) => self.iteration(closure, list),
            Expr::Fold(closure, list, start) => {
                let mut uses = self.iteration(closure, list);
                uses.extend(self.uses(start, true));
                uses
            }
            Expr::If(condition, yes, no) => self.all([&**condition, &**yes, &**no]),
            Expr::Match(scrutinee, arms) => {
                let mut uses = self.uses(scrutinee, takes_apart(scrutinee, arms));
                for arm in arms {
                    uses.extend(without(self.uses(&arm.body, true), arm.pattern.bound()));
                }
                uses
            }
        }
    }

    fn all<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Use> {
        exprs.into_iter().flat_map(|expr| self.uses(expr, true)).collect()
    }

    fn arguments(&self, modes: &[Mode], arguments: &[Expr]) -> Vec<Use> {
        modes.iter().zip(arguments).flat_map(|(mode, one)| self.uses(one, *mode == Mode::Owned)).collect()
    }

    /// What a closure captures it clones, since it runs again and again: that takes nothing.
    fn iteration(&self, closure: &Closure, list: &Expr) -> Vec<Use> {
        let captured = without(self.uses(&closure.body, true), &closure.parameters);
        let mut uses: Vec<Use> = captured.into_iter().map(|one| Use { taken: None, ..one }).collect();
        uses.extend(self.uses(list, self.takes_elements(closure, list)));
        uses
    }
}

/// Does a match take its scrutinee, because an arm binds parts of it?
pub fn takes_apart(scrutinee: &Expr, arms: &[Arm]) -> bool {
    !looks_up(scrutinee) && arms.iter().any(|arm| arm.pattern.bound().next().is_some())
}

/// A call of a primitive that gives a reference.
pub fn looks_up(expr: &Expr) -> bool {
    matches!(expr, Expr::Primitive(primitive, _) if matches!(primitive.returns, Returns::Element(_)))
}

/// Without those of variables that are bound in between.
fn without<'n>(uses: Vec<Use>, names: impl IntoIterator<Item = &'n String>) -> Vec<Use> {
    let names: Vec<&String> = names.into_iter().collect();
    uses.into_iter().filter(|one| !names.contains(&&one.path.root)).collect()
}

/// The functions that an expression calls.
pub fn callees(expr: &Expr) -> Vec<String> {
    let mut names = Vec::new();
    visit(expr, &mut |part| {
        if let Expr::Call(name, _) = part {
            names.push(name.clone());
        }
    });
    names
}

/// Calls `see` with an expression and all its parts.
pub fn visit(expr: &Expr, see: &mut dyn FnMut(&Expr)) {
    see(expr);
    let mut all = |exprs: &[&Expr]| exprs.iter().for_each(|part| visit(part, see));
    match expr {
        Expr::Path(..) | Expr::Number(_) | Expr::Boolean(_) | Expr::None => {}
        Expr::Call(_, parts) | Expr::Primitive(_, parts) | Expr::Variant(_, _, parts) | Expr::List(parts) => {
            all(&parts.iter().collect::<Vec<_>>());
        }
        Expr::Operator(_, a, b) | Expr::Pair(a, b) | Expr::Let(_, a, b) => all(&[a, b]),
        Expr::Not(inner) | Expr::Some(inner) => all(&[inner]),
        Expr::Struct(_, fields) => all(&fields.iter().map(|(_, value)| value).collect::<Vec<_>>()),
        Expr::Map(closure, list) => all(&[&closure.body, list]),
        Expr::Fold(closure, list, start) => all(&[&closure.body, list, start]),
        Expr::If(condition, yes, no) => all(&[condition, yes, no]),
        Expr::Match(scrutinee, arms) => {
            all(&[scrutinee]);
            all(&arms.iter().map(|arm| &arm.body).collect::<Vec<_>>());
        }
    }
}
