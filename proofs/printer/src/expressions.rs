//! The text of expressions. Line breaks are left to rustfmt.

use std::collections::BTreeSet;

use crate::ir::{Arm, Closure, Expr, Path, Paths, Pattern, Place, Type};
use crate::names;
use crate::ownership::{Ownership, looks_up, takes_apart};
use crate::primitives::{Kind, Mode};
use crate::program::Program;
use crate::refusal::{Reason, Result};

/// Prints the body of one function.
pub struct Body<'a> {
    /// What the function stands in.
    pub program: &'a Program,
    /// Who owns what.
    pub ownership: &'a Ownership<'a>,
    /// The function, for refusals.
    pub place: &'a str,
}

/// What surrounds an expression.
#[derive(Clone, Default)]
pub struct Context {
    /// The paths that are needed after it.
    pub later: Paths,
    /// The variables that are references.
    pub references: BTreeSet<String>,
}

impl Context {
    /// The same, where more is needed afterwards.
    fn before(&self, needed: &Paths) -> Context {
        Context { later: &self.later | needed, references: self.references.clone() }
    }

    /// The same, where the variables `names` hide those of the same name.
    fn binding<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Context {
        let names: Vec<&String> = names.into_iter().collect();
        let later = self.later.iter().filter(|path| !names.contains(&&path.root)).cloned().collect();
        let references = self.references.iter().filter(|name| !names.contains(name)).cloned().collect();
        Context { later, references }
    }

    /// The same, where `name` is a reference.
    fn referring(mut self, name: &str) -> Context {
        self.references.insert(name.to_owned());
        self
    }
}

impl Body<'_> {
    /// Statements and a last expression, without braces.
    pub fn block(&self, expr: &Expr, context: &Context) -> Result<String> {
        let Expr::Let(name, value, body) = expr else { return self.expr(expr, context) };
        if let Expr::Let(inner, inner_value, inner_body) = &**value
            && (inner == name || !self.ownership.needed(body).iter().any(|path| path.root == *inner))
        {
            let outer = Expr::Let(name.clone(), inner_body.clone(), body.clone());
            return self.block(&Expr::Let(inner.clone(), inner_value.clone(), Box::new(outer)), context);
        }
        let needed = self.needed_without(body, [name]);
        let value = self.expr(value, &context.before(&needed))?;
        let body = self.block(body, &context.binding([name]))?;
        Ok(format!("let {} = {value};\n{body}", names::variable(name)))
    }

    fn needed_without<'n>(&self, expr: &Expr, names: impl IntoIterator<Item = &'n String>) -> Paths {
        let names: Vec<&String> = names.into_iter().collect();
        self.ownership.needed(expr).into_iter().filter(|path| !names.contains(&&path.root)).collect()
    }

    /// An expression that gives its value away.
    fn expr(&self, expr: &Expr, context: &Context) -> Result<String> {
        match expr {
            Expr::Path(place) => self.taken(place, context),
            Expr::Number(number) => Ok(number.to_string()),
            Expr::Boolean(value) => Ok(value.to_string()),
            Expr::Call(name, arguments) => {
                let arguments = self.arguments(self.ownership.modes(name), arguments, context)?;
                Ok(format!("{}({arguments})", names::variable(name)))
            }
            Expr::Primitive(primitive, arguments) => {
                let call = format!("{}({})", primitive.name, self.arguments(primitive.modes, arguments, context)?);
                Ok(if looks_up(expr) { format!("{call}.cloned()") } else { call })
            }
            Expr::Operator(operator, a, b) => {
                let left = self.operand(a, operator.strength, &context.before(&self.ownership.needed(b)))?;
                let right = self.operand(b, operator.strength + 1, context)?;
                Ok(format!("{left} {} {right}", operator.rust))
            }
            Expr::Not(inner) => Ok(format!("!{}", self.operand(inner, u8::MAX, context)?)),
            Expr::Let(..) => Ok(format!("{{\n{}\n}}", self.block(expr, context)?)),
            Expr::Variant(ty, variant, arguments) => {
                let variant = format!("{}::{}", self.program.type_name(ty), names::variant(ty, variant));
                let arguments = self.owned(arguments, context)?;
                Ok(if arguments.is_empty() { variant } else { format!("{variant}({})", arguments.join(", ")) })
            }
            Expr::Struct(ty, fields) => self.structure(ty, fields, context),
            Expr::Pair(a, b) => {
                let a = self.expr(a, &context.before(&self.ownership.needed(b)))?;
                Ok(format!("({a}, {})", self.expr(b, context)?))
            }
            Expr::Some(inner) => Ok(format!("Some({})", self.expr(inner, context)?)),
            Expr::None => Ok("None".to_owned()),
            Expr::List(items) => Ok(format!("vec![{}]", self.owned(items, context)?.join(", "))),
            Expr::Map(closure, list) => {
                let function = self.closure(closure, list, context)?;
                Ok(format!("{}.map({function}).collect::<Vec<_>>()", self.iterator(closure, list, context)?))
            }
            Expr::Fold(closure, list, start) => {
                let function = self.closure(closure, list, context)?;
                let list = self.iterator(closure, list, &context.before(&self.ownership.needed(start)))?;
                let start = self.expr(start, &context.before(&self.captured(closure)))?;
                Ok(format!("{list}.fold({start}, {function})"))
            }
            Expr::If(condition, yes, no) => self.branches(condition, yes, no, context),
            Expr::Match(scrutinee, arms) => self.arms(scrutinee, arms, context),
        }
    }

    // --- Paths.

    fn taken(&self, place: &Place, context: &Context) -> Result<String> {
        let (kind, path, text) = (self.program.kind(&place.ty), &place.path, text(&place.path));
        let needed_again = context.later.iter().any(|later| later.overlaps(path));
        if kind == Kind::Copied || !(needed_again || context.references.contains(&path.root)) {
            return Ok(text);
        }
        if kind == Kind::Moved {
            return Err(Reason::Copied(text).of(self.place));
        }
        Ok(format!("{text}.clone()"))
    }

    /// An argument of a function that only looks at it.
    fn looked_at(&self, expr: &Expr, context: &Context) -> Result<String> {
        match expr {
            Expr::Path(place) => {
                let path = &place.path;
                let is_reference = path.fields.is_empty() && context.references.contains(&path.root);
                Ok(format!("{}{}", if is_reference { "" } else { "&" }, text(path)))
            }
            _ => Ok(format!("&{}", self.operand(expr, u8::MAX, context)?)),
        }
    }

    fn arguments(&self, modes: &[Mode], arguments: &[Expr], context: &Context) -> Result<String> {
        let mut texts = Vec::new();
        for (index, (argument, mode)) in arguments.iter().zip(modes).enumerate() {
            let context = context.before(&self.needed_by(&arguments[index + 1..]));
            texts.push(match mode {
                Mode::Owned => self.expr(argument, &context)?,
                Mode::Borrowed => self.looked_at(argument, &context)?,
            });
        }
        Ok(texts.join(", "))
    }

    fn owned(&self, exprs: &[Expr], context: &Context) -> Result<Vec<String>> {
        let each = exprs.iter().enumerate();
        each.map(|(index, expr)| self.expr(expr, &context.before(&self.needed_by(&exprs[index + 1..])))).collect()
    }

    fn needed_by(&self, exprs: &[Expr]) -> Paths {
        exprs.iter().flat_map(|expr| self.ownership.needed(expr)).collect()
    }

    // --- Operators.

    /// An operand, in parentheses if it binds less tightly than `strength`.
    fn operand(&self, expr: &Expr, strength: u8, context: &Context) -> Result<String> {
        let own = match expr {
            Expr::Operator(operator, ..) => operator.strength,
            Expr::Let(..) | Expr::If(..) | Expr::Match(..) => 0,
            _ => u8::MAX,
        };
        let text = self.expr(expr, context)?;
        Ok(if own < strength { format!("({text})") } else { text })
    }

    // --- Structs.

    /// Where two fields or more are those of another struct, they are taken from it at once: `S { a: 1, ..s }`.
    fn structure(&self, ty: &str, fields: &[(String, Expr)], context: &Context) -> Result<String> {
        let base = self.base(ty, fields, context);
        let is_kept =
            |(field, value): &&(String, Expr)| base.as_ref() == parent(ty, field, value).as_ref() && base.is_some();
        let (kept, given): (Vec<_>, Vec<_>) = fields.iter().partition(is_kept);
        let kept: Paths = kept.iter().flat_map(|(_, value)| self.ownership.needed(value)).collect();
        let given_values: Vec<Expr> = given.iter().map(|(_, value)| value.clone()).collect();
        let values = self.owned(&given_values, &context.before(&kept))?;
        let initialised = given.iter().zip(values).map(|((field, _), value)| {
            let field = names::variable(field);
            if field == value { field } else { format!("{field}: {value}") }
        });
        let mut parts: Vec<String> = initialised.collect();
        parts.extend(base.map(|base| format!("..{}", text(&base))));
        Ok(format!("{} {{ {} }}", self.program.type_name(ty), parts.join(", ")))
    }

    /// The struct that most fields come from, if they can be moved out of it.
    fn base(&self, ty: &str, fields: &[(String, Expr)], context: &Context) -> Option<Path> {
        let parents: Vec<Path> = fields.iter().filter_map(|(field, value)| parent(ty, field, value)).collect();
        let count = |path: &Path| parents.iter().filter(|parent| *parent == path).count();
        let base = parents.iter().max_by_key(|path| count(path)).filter(|path| count(path) > 1)?;
        let movable = |place: &Place| {
            let again = || context.later.iter().any(|later| later.overlaps(&place.path));
            self.is_copied(&place.ty) || !(context.references.contains(&place.path.root) || again())
        };
        let mut kept = fields.iter().filter(|(field, value)| parent(ty, field, value).as_ref() == Some(base));
        kept.all(|(_, value)| matches!(value, Expr::Path(place) if movable(place))).then(|| base.clone())
    }

    // --- Iteration.

    /// What a closure uses and does not bind: it is captured by reference, and needed until the closure has run last.
    fn captured(&self, closure: &Closure) -> Paths {
        self.needed_without(&closure.body, &closure.parameters)
    }

    fn iterator(&self, closure: &Closure, list: &Expr, context: &Context) -> Result<String> {
        let context = context.before(&self.captured(closure));
        if self.ownership.takes_elements(closure, list) {
            return Ok(format!("{}.into_iter()", self.operand(list, u8::MAX, &context)?));
        }
        let Expr::Path(Place { path, .. }) = list else { return Err(Reason::Expression.of(self.place)) };
        let copied = if self.program.kind(&closure.element) == Kind::Copied { ".copied()" } else { "" };
        Ok(format!("{}.iter(){copied}", text(path)))
    }

    fn closure(&self, closure: &Closure, list: &Expr, context: &Context) -> Result<String> {
        let looks = !self.ownership.takes_elements(closure, list);
        if let Some(name) = self.is_function(closure).filter(|_| !looks) {
            return Ok(names::variable(name));
        }
        let mut inside = context.before(&self.captured(closure)).binding(&closure.parameters);
        if looks && !self.is_copied(&closure.element) {
            inside = inside.referring(closure.element_name());
        }
        let parameters: Vec<String> = closure.parameters.iter().map(|name| names::variable(name)).collect();
        Ok(format!("|{}| {}", parameters.join(", "), self.expr(&closure.body, &inside)?))
    }

    /// The function that the closure only passes its parameters to.
    fn is_function<'c>(&self, closure: &'c Closure) -> Option<&'c str> {
        let Expr::Call(name, arguments) = &closure.body else { return None };
        let passes = |(argument, parameter): (&Expr, &String)| matches!(argument, Expr::Path(Place { path, .. }) if path.fields.is_empty() && path.root == *parameter);
        let same = arguments.len() == closure.parameters.len()
            && arguments.iter().zip(&closure.parameters).all(passes)
            && self.ownership.modes(name).iter().all(|mode| *mode == Mode::Owned);
        same.then_some(name)
    }

    // --- Branches.

    fn branches(&self, condition: &Expr, yes: &Expr, no: &Expr, context: &Context) -> Result<String> {
        let needed = &self.ownership.needed(yes) | &self.ownership.needed(no);
        let condition = self.expr(condition, &context.before(&needed))?;
        let (yes, other) = (self.block(yes, context)?, self.block(no, context)?);
        let chained = matches!(no, Expr::If(..));
        let other = if chained { other } else { format!("{{\n{other}\n}}") };
        Ok(format!("if {condition} {{\n{yes}\n}} else {other}"))
    }

    fn arms(&self, scrutinee: &Expr, arms: &[Arm], context: &Context) -> Result<String> {
        let needed: Paths = arms.iter().flat_map(|arm| self.needed_without(&arm.body, arm.pattern.bound())).collect();
        let refers = looks_up(scrutinee).then(|| self.refers(arms)).flatten();
        let text = self.scrutinee(scrutinee, arms, refers.is_some(), &context.before(&needed))?;
        let mut texts = Vec::new();
        for arm in arms {
            let mut inside = context.binding(arm.pattern.bound());
            if let (Some(name), true) = (&refers, arm.pattern.bound().next().is_some()) {
                inside = inside.referring(name);
            }
            let body = self.block(&arm.body, &inside)?;
            let body = if matches!(arm.body, Expr::Let(..)) { format!("{{\n{body}\n}}") } else { body };
            texts.push(format!("{} => {body},", self.pattern(&arm.pattern)));
        }
        Ok(format!("match {text} {{\n{}\n}}", texts.join("\n")))
    }

    fn scrutinee(&self, scrutinee: &Expr, arms: &[Arm], refers: bool, context: &Context) -> Result<String> {
        match scrutinee {
            Expr::Primitive(primitive, arguments) if looks_up(scrutinee) => {
                let call = format!("{}({})", primitive.name, self.arguments(primitive.modes, arguments, context)?);
                let copies = arms.iter().any(|arm| matches!(&arm.pattern, Pattern::Some(_, ty) if self.is_copied(ty)));
                let binds = arms.iter().any(|arm| arm.pattern.bound().next().is_some());
                let suffix = match (binds && !refers, copies) {
                    (true, true) => ".copied()",
                    (true, false) => ".cloned()",
                    (false, _) => "",
                };
                Ok(call + suffix)
            }
            Expr::Path(place) if !takes_apart(scrutinee, arms) => Ok(text(&place.path)),
            _ => self.expr(scrutinee, context),
        }
    }

    fn is_copied(&self, ty: &Type) -> bool {
        self.program.kind(ty) == Kind::Copied
    }

    /// The variable of a looked-up element that the arms only look at: it stays where it is.
    fn refers(&self, arms: &[Arm]) -> Option<String> {
        arms.iter().find_map(|arm| match &arm.pattern {
            Pattern::Some(name, ty) if name != "_" && !self.is_copied(ty) => {
                (!self.ownership.takes_whole(&arm.body, name)).then(|| name.clone())
            }
            _ => None,
        })
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Wild => "_".to_owned(),
            Pattern::None => "None".to_owned(),
            Pattern::Some(name, _) => format!("Some({})", names::variable(name)),
            Pattern::Variant(ty, variant, arguments) => {
                let variant = format!("{}::{}", self.program.type_name(ty), names::variant(ty, variant));
                if arguments.is_empty() {
                    return variant;
                }
                if arguments.iter().all(|name| name == "_") {
                    return format!("{variant}(..)");
                }
                let arguments: Vec<String> = arguments.iter().map(|name| names::variable(name)).collect();
                format!("{variant}({})", arguments.join(", "))
            }
        }
    }
}

/// The path of which `value` is the field `field`, if that is a struct of the type `ty`.
fn parent(ty: &str, field: &str, value: &Expr) -> Option<Path> {
    let Expr::Path(Place { path, of: Type::Named(of), .. }) = value else { return None };
    path.parent().filter(|(_, last)| of == ty && *last == field).map(|(parent, _)| parent)
}

fn text(path: &Path) -> String {
    let fields = path.fields.iter().map(|field| format!(".{}", names::variable(field)));
    fields.fold(names::variable(&path.root), |text, field| text + &field)
}
