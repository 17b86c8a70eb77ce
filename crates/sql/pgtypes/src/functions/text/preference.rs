//! Which of the matches that begin at one place PostgreSQL takes, and what their groups hold.
//!
//! PostgreSQL's rules (its documentation, "Regular Expression Matching Rules") are not those of the `regex` crate. The whole
//! match is the longest or the shortest, as its first quantifier with a preference says; alternatives prefer the longest; and
//! each part takes the longest or the shortest piece that leaves a match to the parts behind it. So the crate finds where a
//! match begins, and this module its end and its groups.

use super::ends::Ends;
use super::regex::Options;
use crate::error::{Error, Result, state};
use crate::memory::check_piece;
use regex_syntax::ast::{Ast, Concat, GroupKind, Repetition, RepetitionKind, RepetitionRange};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

/// The place of each group; the whole match is the first.
pub(super) type Places = Vec<Option<Range<usize>>>;

/// Bytes for each repetition that is being tried, with the ends that are left to try.
const REPETITION_BYTES: usize = 64;

/// The length that a part prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preference {
    Longest,
    Shortest,
}

/// What is known of a part of a pattern.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    preference: Option<Preference>,
    /// Both preferences occur in it.
    is_mixed: bool,
    has_groups: bool,
}

impl Facts {
    fn of(ast: &Ast) -> Facts {
        match ast {
            Ast::Repetition(repetition) => Facts::of_quantifier(repetition).and(Facts::of(&repetition.ast)),
            Ast::Group(group) => {
                let inner = Facts::of(&group.ast);
                Facts { has_groups: inner.has_groups || !matches!(group.kind, GroupKind::NonCapturing(_)), ..inner }
            }
            Ast::Alternation(alternation) => {
                let longest = Facts { preference: Some(Preference::Longest), ..Facts::default() };
                alternation.asts.iter().map(Facts::of).fold(longest, Facts::and)
            }
            Ast::Concat(concat) => concat.asts.iter().map(Facts::of).fold(Facts::default(), Facts::and),
            _ => Facts::default(),
        }
    }

    /// `{m}` has the preference of what it repeats.
    fn of_quantifier(repetition: &Repetition) -> Facts {
        let preference = match &repetition.op.kind {
            RepetitionKind::Range(RepetitionRange::Exactly(_)) => None,
            _ if repetition.greedy => Some(Preference::Longest),
            _ => Some(Preference::Shortest),
        };
        Facts { preference, ..Facts::default() }
    }

    /// Of two parts, one behind the other: the first preference counts.
    fn and(self, next: Facts) -> Facts {
        let differ = matches!((self.preference, next.preference), (Some(a), Some(b)) if a != b);
        Facts {
            preference: self.preference.or(next.preference),
            is_mixed: self.is_mixed || next.is_mixed || differ,
            has_groups: self.has_groups || next.has_groups,
        }
    }

    /// Returns whether its pieces must be found one by one.
    fn has_pieces(self) -> bool {
        self.has_groups || self.is_mixed
    }
}

/// Least and greatest number of repetitions; `None` for no greatest.
fn bounds(kind: &RepetitionKind) -> (u32, Option<u32>) {
    match kind {
        RepetitionKind::ZeroOrOne => (0, Some(1)),
        RepetitionKind::ZeroOrMore => (0, None),
        RepetitionKind::OneOrMore => (1, None),
        RepetitionKind::Range(RepetitionRange::Exactly(count)) => (*count, Some(*count)),
        RepetitionKind::Range(RepetitionRange::AtLeast(least)) => (*least, None),
        RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => (*least, Some(*most)),
    }
}

/// Returns whether all rules find the same pieces: at most one of them, a repeated character, has more than one length.
pub(super) fn is_determined(ast: &Ast) -> bool {
    fn variable(ast: &Ast) -> Option<usize> {
        match ast {
            Ast::Alternation(_) => None,
            Ast::Group(group) => variable(&group.ast),
            Ast::Concat(concat) => concat.asts.iter().map(variable).sum(),
            Ast::Repetition(repetition) => match (&*repetition.ast, bounds(&repetition.op.kind)) {
                (Ast::Literal(_) | Ast::Dot(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_), (least, most)) => {
                    Some(usize::from(most != Some(least)))
                }
                _ => None,
            },
            _ => Some(0),
        }
    }
    !Facts::of(ast).is_mixed && variable(ast).is_some_and(|variable| variable <= 1)
}

/// A part of the pattern's text, so many times.
#[derive(Clone, Debug)]
struct Source {
    text: Range<usize>,
    times: Option<(u32, Option<u32>)>,
}

/// A part of the pattern.
struct Part {
    kind: Kind,
    source: Source,
    preference: Option<Preference>,
    ends: OnceCell<Ends>,
    /// The parts behind it in its sequence, up to the last.
    behind: OnceCell<Ends>,
}

enum Kind {
    /// Without groups.
    Leaf,
    /// One behind the other.
    Sequence(Vec<Part>),
    Alternatives(Vec<Part>),
    Group(usize, Box<Part>),
    /// From no times on, up to a greatest number.
    Repeated(Box<Part>, Option<u32>),
}

/// A pattern whose matches depend on preferences.
pub(super) struct Tree {
    pattern: String,
    options: Options,
    root: Part,
    groups: usize,
}

fn source(ast: &Ast) -> Source {
    let span = ast.span();
    Source { text: span.start.offset..span.end.offset, times: None }
}

fn part(kind: Kind, source: Source, preference: Option<Preference>) -> Part {
    Part { kind, source, preference, ends: OnceCell::new(), behind: OnceCell::new() }
}

/// The parts of an expression, as PostgreSQL's compiler of regular expressions divides it.
fn divide(ast: &Ast, groups: &mut usize) -> Part {
    let facts = Facts::of(ast);
    if !facts.has_groups {
        return part(Kind::Leaf, source(ast), facts.preference);
    }
    let kind = match ast {
        Ast::Group(group) => {
            let inner = divide(&group.ast, groups);
            match &group.kind {
                GroupKind::CaptureIndex(number) => {
                    *groups = (*groups).max(*number as usize);
                    Kind::Group(*number as usize, Box::new(inner))
                }
                _ => inner.kind,
            }
        }
        Ast::Alternation(alternation) => {
            Kind::Alternatives(alternation.asts.iter().map(|ast| divide(ast, groups)).collect())
        }
        Ast::Concat(concat) => Kind::Sequence(divide_sequence(concat, groups)),
        Ast::Repetition(repetition) => return divide_repetition(repetition, source(ast), groups),
        _ => Kind::Leaf,
    };
    part(kind, source(ast), facts.preference)
}

/// Parts without groups are one as long as they prefer the same.
fn divide_sequence(concat: &Concat, groups: &mut usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    // What is collected of a leaf.
    let mut leaf: Option<(Source, Facts)> = None;
    let flush = |leaf: &mut Option<(Source, Facts)>, parts: &mut Vec<Part>| {
        parts.extend(leaf.take().map(|(source, facts)| part(Kind::Leaf, source, facts.preference)));
    };
    for ast in &concat.asts {
        let (facts, new) = (Facts::of(ast), source(ast));
        let together = leaf.as_ref().map_or(facts, |(_, before)| before.and(facts));
        if !together.has_pieces() {
            let from = leaf.take().map_or(new.text.start, |(before, _)| before.text.start);
            leaf = Some((Source { text: from..new.text.end, times: None }, together));
            continue;
        }
        flush(&mut leaf, &mut parts);
        parts.push(divide(ast, groups));
    }
    flush(&mut leaf, &mut parts);
    parts
}

/// `x{m,n}` is `x{m-1,n-1}x`: groups hold what the last repetition matched.
fn divide_repetition(repetition: &Repetition, whole: Source, groups: &mut usize) -> Part {
    let quantifier = Facts::of_quantifier(repetition);
    let preference = quantifier.and(Facts::of(&repetition.ast)).preference;
    let operand = source(&repetition.ast).text;
    let last = divide(&repetition.ast, groups);
    let times = |least: u32, most: Option<u32>| Source { text: operand.clone(), times: Some((least, most)) };
    match bounds(&repetition.op.kind) {
        (_, Some(0)) => part(Kind::Leaf, whole, preference),
        (0, most) => part(Kind::Repeated(Box::new(last), most), whole, preference),
        (1, Some(1)) if quantifier.preference.is_none() => last,
        (least, most) => {
            let before = part(Kind::Leaf, times(least - 1, most.map(|most| most - 1)), preference);
            part(Kind::Sequence(vec![before, last]), whole, preference)
        }
    }
}

impl Tree {
    /// Divides a pattern.
    pub(super) fn new(pattern: &str, ast: &Ast, options: Options) -> Tree {
        let mut groups = 0;
        let root = divide(ast, &mut groups);
        Tree { pattern: pattern.to_owned(), options, root, groups }
    }

    /// The match that begins at a place where one does.
    ///
    /// # Errors
    /// 57014 and its kin when the statement must stop, 53200 without memory for the search, 2201B for too large a part.
    pub(super) fn places(&self, text: &[u8], from: usize) -> Result<Places> {
        let is_longest = self.root.preference != Some(Preference::Shortest);
        let end = self.ends(&self.root)?.preferred(text, from..text.len(), is_longest)?.ok_or_else(lost)?;
        let mut places = vec![None; self.groups + 1];
        places[0] = Some(from..end);
        self.divide_text(&self.root, text, from..end, &mut places)?;
        Ok(places)
    }

    /// Compiles parts, one behind the other.
    fn compile<'s>(&self, sources: impl IntoIterator<Item = &'s Source>) -> Result<Ends> {
        let mut all = String::new();
        for Source { text, times } in sources {
            all.push_str("(?:");
            all.push_str(&self.pattern[text.clone()]);
            all.push(')');
            if let Some((least, most)) = times {
                let most = most.map_or(String::new(), |most| most.to_string());
                all.push_str(&format!("{{{least},{most}}}"));
            }
        }
        Ends::compile(&all, self.options)
    }

    fn ends<'a>(&self, part: &'a Part) -> Result<&'a Ends> {
        get_or_compile(&part.ends, || self.compile([&part.source]))
    }

    /// Finds the groups of a part that matches the whole span.
    fn divide_text(&self, part: &Part, text: &[u8], span: Range<usize>, places: &mut Places) -> Result<()> {
        match &part.kind {
            Kind::Leaf => Ok(()),
            Kind::Group(number, inner) => {
                places[*number] = Some(span.clone());
                self.divide_text(inner, text, span, places)
            }
            Kind::Alternatives(parts) => {
                for part in parts {
                    if self.ends(part)?.is_whole(text, span.clone())? {
                        return self.divide_text(part, text, span, places);
                    }
                }
                Err(lost())
            }
            Kind::Sequence(parts) => self.divide_in_sequence(parts, text, span, places),
            Kind::Repeated(one, most) => match self.last_repetition(one, *most, text, span)? {
                Some(last) => self.divide_text(one, text, last, places),
                None => Ok(()),
            },
        }
    }

    fn divide_in_sequence(&self, parts: &[Part], text: &[u8], span: Range<usize>, places: &mut Places) -> Result<()> {
        let mut from = span.start;
        for (at, part) in parts.iter().enumerate() {
            let end = match parts.get(at + 1..) {
                None | Some([]) => span.end,
                Some(behind) => {
                    let behind =
                        || get_or_compile(&part.behind, || self.compile(behind.iter().map(|part| &part.source)));
                    let ends = self.ends(part)?.all(text, from..span.end)?;
                    choose(ends, part.preference, |end| behind()?.is_whole(text, end..span.end))?
                }
            };
            self.divide_text(part, text, from..end, places)?;
            from = end;
        }
        Ok(())
    }

    /// The last of the repetitions that fill the span. An empty span has one if it can be empty and does not prefer to be so.
    fn last_repetition(
        &self,
        one: &Part,
        most: Option<u32>,
        text: &[u8],
        span: Range<usize>,
    ) -> Result<Option<Range<usize>>> {
        if span.is_empty() {
            let has_one =
                one.preference != Some(Preference::Shortest) && self.ends(one)?.is_whole(text, span.clone())?;
            return Ok(has_one.then_some(span));
        }
        // A repetition that matches nothing would not come to the end.
        let next = |from: usize| -> Result<Vec<usize>> {
            let mut ends = self.ends(one)?.all(text, from..span.end)?;
            ends.retain(|end| *end > from);
            if one.preference == Some(Preference::Shortest) {
                ends.reverse();
            }
            Ok(ends)
        };
        // The repetitions so far, each with the ends that are left to try, the preferred one last.
        let mut tried = vec![(span.start, next(span.start)?)];
        let mut failed: HashSet<(usize, usize)> = HashSet::new();
        while let Some((from, ends)) = tried.last_mut() {
            let Some(end) = ends.pop() else {
                let from = *from;
                tried.pop();
                failed.insert((from, if most.is_some() { tried.len() } else { 0 }));
                continue;
            };
            if end == span.end {
                return Ok(Some(*from..end));
            }
            let depth = tried.len();
            let is_hopeless = match most {
                Some(most) => depth == most as usize || failed.contains(&(end, depth)),
                None => failed.contains(&(end, 0)),
            };
            if !is_hopeless {
                check_piece(depth.saturating_mul(REPETITION_BYTES))?;
                tried.push((end, next(end)?));
            }
        }
        Err(lost())
    }
}

/// The preferred of the ends that leave a match to what follows. One that is alone is it.
fn choose(
    mut ends: Vec<usize>,
    preference: Option<Preference>,
    mut leaves_match: impl FnMut(usize) -> Result<bool>,
) -> Result<usize> {
    if preference != Some(Preference::Shortest) {
        ends.reverse();
    }
    if let [end] = ends[..] {
        return Ok(end);
    }
    for end in ends {
        if leaves_match(end)? {
            return Ok(end);
        }
    }
    Err(lost())
}

fn get_or_compile(cell: &OnceCell<Ends>, compile: impl FnOnce() -> Result<Ends>) -> Result<&Ends> {
    if let Some(ends) = cell.get() {
        return Ok(ends);
    }
    let ends = compile()?;
    Ok(cell.get_or_init(|| ends))
}

/// An automaton of the whole found a match that those of its parts do not: a defect.
fn lost() -> Error {
    debug_assert!(false, "the parts of a pattern match what the whole does");
    Error::new(state::INTERNAL_ERROR, "regular expression failed: its parts do not match what the whole does")
}
