//! The text of a program: types and functions in the order of Coq, with the comments of its sources.

use std::collections::BTreeSet;

use crate::comments::Comments;
use crate::expressions::{Body, Context};
use crate::ir::{Definition, Expr, Function, Type};
use crate::names;
use crate::ownership::{Ownership, visit};
use crate::primitives::{Kind, Mode};
use crate::program::Program;
use crate::refusal::Result;

/// The widest documentation line, as `rustfmt.toml` has it.
const WIDTH: usize = 120;

/// The lint that reads a predicate like `waits` as a `matches!`: the text follows the model's, clause by clause.
const HEADER: &str = "\
#![allow(clippy::match_like_matches_macro, reason = \"the text follows the model's, clause by clause\")]
";

/// Prints `program`. `order` has the names of its types and functions as Coq declares them.
pub fn print(
    program: &Program,
    order: &[&str],
    roots: &[String],
    comments: &Comments,
    sources: &[String],
) -> Result<String> {
    let ownership = Ownership::of(program);
    let printer = Printer { program, ownership: &ownership, roots, comments };
    let mut items = Vec::new();
    for name in order {
        let item = match (program.types.get(*name), program.functions.get(*name)) {
            (Some(definition), _) => printer.definition(name, definition),
            (None, Some(function)) => printer.function(function)?,
            (None, None) => continue,
        };
        let heading = comments.headings.get(*name).map_or(String::new(), |title| format!("// --- {title}\n\n"));
        items.push(heading + &item);
    }
    let sources: Vec<String> = sources.iter().map(|source| format!("`{source}`")).collect();
    let title = format!(
        "//! Printed from {}, which the proofs are about.\n//!\n//! Not to be edited: `make proofs` prints it again and compares.\n\n",
        sources.join(" and ")
    );
    Ok(format!("{title}{HEADER}\nuse super::prim::{{{}}};\n\n{}", imports(program).join(", "), items.join("\n")))
}

struct Printer<'a> {
    program: &'a Program,
    ownership: &'a Ownership<'a>,
    roots: &'a [String],
    comments: &'a Comments,
}

impl Printer<'_> {
    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Number => "u64".to_owned(),
            Type::Boolean => "bool".to_owned(),
            Type::Primitive(primitive, arguments) if arguments.is_empty() => primitive.rust.to_owned(),
            Type::Primitive(primitive, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|one| self.ty(one)).collect();
                format!("{}<{}>", primitive.rust, arguments.join(", "))
            }
            Type::Named(name) => self.program.type_name(name),
            Type::Option(inner) => format!("Option<{}>", self.ty(inner)),
            Type::List(inner) => format!("Vec<{}>", self.ty(inner)),
            Type::Pair(a, b) => format!("({}, {})", self.ty(a), self.ty(b)),
            Type::Unknown => "_".to_owned(),
        }
    }

    fn definition(&self, name: &str, definition: &Definition) -> String {
        let printed = self.program.type_name(name);
        let doc = doc(self.comment(name).unwrap_or_else(|| format!("`{}` of the model.", source_name(name))));
        let derive = match self.program.kind(&Type::Named(name.to_owned())) {
            Kind::Copied => "#[derive(Debug, Clone, Copy, PartialEq, Eq)]",
            Kind::Cloned => "#[derive(Debug, Clone, PartialEq, Eq)]",
            Kind::Moved => "#[derive(Debug, PartialEq, Eq)]",
        };
        match definition {
            Definition::Alias(ty) => format!("{doc}pub type {printed} = {};\n", self.ty(ty)),
            Definition::Struct(fields) => {
                let fields: String = fields.iter().map(|(field, ty)| self.field(&printed, field, ty)).collect();
                format!("{doc}{derive}\npub struct {printed} {{\n{fields}}}\n")
            }
            Definition::Enum(variants) => {
                let variants: String = variants.iter().map(|(one, types)| self.variant(name, one, types)).collect();
                format!("{doc}{derive}\npub enum {printed} {{\n{variants}}}\n")
            }
        }
    }

    fn field(&self, record: &str, field: &str, ty: &Type) -> String {
        let long = format!("{}_{field}", record.to_lowercase());
        let comment = self.comment(field).or_else(|| self.comment(&long));
        let text = comment.unwrap_or_else(|| format!("`{field}` of the model's {}.", record.to_lowercase()));
        format!("{}pub {}: {},\n", doc(text), names::variable(field), self.ty(ty))
    }

    /// A variant's documentation begins with the names that the model has for its arguments.
    fn variant(&self, ty: &str, variant: &str, types: &[Type]) -> String {
        let printed = names::variant(ty, variant);
        let arguments = self.comments.arguments.get(variant).filter(|names| names.len() == types.len());
        let arguments = arguments.filter(|names| !names.is_empty()).map(|names| format!("({})", names.join(", ")));
        let signature = format!("`{printed}{}`", arguments.unwrap_or_default());
        let text = match self.comment(variant) {
            Some(comment) => format!("{signature}: {comment}"),
            None => format!("{signature}."),
        };
        let types: Vec<String> = types.iter().map(|one| self.ty(one)).collect();
        let payload = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
        format!("{}{printed}{payload},\n", doc(text))
    }

    fn function(&self, function: &Function) -> Result<String> {
        let name = &function.name;
        let is_root = self.roots.contains(name);
        let fallback = || is_root.then(|| format!("`{}` of the model.", source_name(name)));
        let doc = self.comment(name).or_else(fallback).map_or(String::new(), doc);
        let body = Body { program: self.program, ownership: self.ownership, place: name };
        let mentioned: BTreeSet<String> =
            self.ownership.needed(&function.body).into_iter().map(|path| path.root).collect();
        let (mut parameters, mut context) = (Vec::new(), Context::default());
        for ((parameter, ty), mode) in function.parameters.iter().zip(self.ownership.modes(name)) {
            let mark = if mentioned.contains(parameter) { "" } else { "_" };
            let ty = match (mode, self.program.resolve(ty)) {
                (Mode::Owned, _) => self.ty(ty),
                (Mode::Borrowed, Type::List(element)) => format!("&[{}]", self.ty(element)),
                (Mode::Borrowed, _) => format!("&{}", self.ty(ty)),
            };
            parameters.push(format!("{mark}{}: {ty}", names::variable(parameter)));
            if *mode == Mode::Borrowed {
                context.references.insert(parameter.clone());
            }
        }
        let body = body.block(&function.body, &context)?;
        let visibility = if is_root { "pub " } else { "" };
        let (name, parameters, result) = (names::variable(name), parameters.join(", "), self.ty(&function.result));
        Ok(format!("{doc}{visibility}fn {name}({parameters}) -> {result} {{\n{body}\n}}\n"))
    }

    /// The comment of a name of Coq, with `[name]` as `name` in code.
    fn comment(&self, name: &str) -> Option<String> {
        let text = self.comments.texts.get(name).or_else(|| self.comments.texts.get(source_name(name)))?;
        let text = text.replace(['[', ']'], "`");
        let end = if text.ends_with(['.', '?', '!', ':']) { "" } else { "." };
        Some(format!("{text}{end}"))
    }
}

/// The name in the source: Coq's extraction puts a 0 behind one that its library has, too.
fn source_name(name: &str) -> &str {
    name.strip_suffix('0').unwrap_or(name)
}

/// Documentation lines; the first letter is a capital.
fn doc(text: String) -> String {
    let (mut lines, mut line) = (String::new(), String::from("///"));
    for word in names::capitalized(&text).split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH - 4 {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from("///");
        }
        line.push(' ');
        line.push_str(word);
    }
    format!("{lines}{line}\n")
}

/// What of `prim.rs` the program names.
fn imports(program: &Program) -> Vec<&'static str> {
    let mut names = BTreeSet::new();
    for function in program.functions.values() {
        visit(&function.body, &mut |expr| {
            if let Expr::Primitive(primitive, _) = expr {
                names.insert(primitive.name);
            }
        });
        function.parameters.iter().for_each(|(_, ty)| mention(ty, &mut names));
        mention(&function.result, &mut names);
    }
    for definition in program.types.values() {
        match definition {
            Definition::Alias(ty) => mention(ty, &mut names),
            Definition::Struct(fields) => fields.iter().for_each(|(_, ty)| mention(ty, &mut names)),
            Definition::Enum(variants) => {
                variants.iter().flat_map(|(_, types)| types).for_each(|ty| mention(ty, &mut names));
            }
        }
    }
    names.into_iter().collect()
}

fn mention(ty: &Type, names: &mut BTreeSet<&'static str>) {
    match ty {
        Type::Primitive(primitive, arguments) => {
            names.insert(primitive.rust);
            arguments.iter().for_each(|one| mention(one, names));
        }
        Type::Option(inner) | Type::List(inner) => mention(inner, names),
        Type::Pair(a, b) => {
            mention(a, names);
            mention(b, names);
        }
        Type::Number | Type::Boolean | Type::Named(_) | Type::Unknown => {}
    }
}
