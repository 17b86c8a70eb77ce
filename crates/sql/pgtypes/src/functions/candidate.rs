//! Selection among functions of one name.
//!
//! Source: PostgreSQL 15, `func_select_candidate` in `parse_func.c`; manual, section 10.3.

use super::polymorphic::{accepts, category_of};
use super::{Aggregate, Function};
use crate::Type;

/// Properties of a candidate that the selection uses.
pub(super) trait Signature {
    /// The types of the arguments.
    fn arguments(&self) -> &'static [Type];

    /// The type of further arguments.
    fn variadic(&self) -> Option<Type> {
        None
    }

    /// The type of the argument at a place.
    fn argument(&self, at: usize) -> Type {
        let declared = self.arguments().get(at).copied();
        declared.or(self.variadic()).unwrap_or(Type::VOID)
    }

    /// Returns whether the candidate accepts this number of arguments.
    fn takes(&self, count: usize) -> bool {
        let fixed = self.arguments().len();
        count == fixed || (count > fixed && self.variadic().is_some())
    }
}

impl<B> Signature for &'static Function<B> {
    fn arguments(&self) -> &'static [Type] {
        self.arguments
    }

    fn variadic(&self) -> Option<Type> {
        self.variadic
    }
}

impl Signature for &'static Aggregate {
    fn arguments(&self) -> &'static [Type] {
        self.arguments
    }
}

/// Result of a selection.
pub(super) enum Choice<S: 'static> {
    /// No candidate fits.
    None,
    /// This one.
    One(&'static S),
    /// Several fit equally well.
    Several,
}

/// Chooses among candidates for arguments of these types.
pub(super) fn choose<S: Signature>(candidates: &'static [S], actual: &[Type]) -> Choice<S> {
    let takes_all = |candidate: &&S| candidate.takes(actual.len());
    let is_exact = |candidate: &&S| (0..actual.len()).all(|at| candidate.argument(at) == actual[at]);
    if let Some(exact) = candidates.iter().filter(takes_all).find(is_exact) {
        return Choice::One(exact);
    }
    let fitting =
        candidates.iter().filter(takes_all).filter(|candidate| accepts(&declared(*candidate, actual.len()), actual));
    let fitting: Vec<&'static S> = fitting.collect();
    match fitting[..] {
        [] => Choice::None,
        [only] => Choice::One(only),
        _ => best(fitting, actual),
    }
}

/// The types of the first `count` arguments.
pub(super) fn declared(candidate: &impl Signature, count: usize) -> Vec<Type> {
    (0..count).map(|at| candidate.argument(at)).collect()
}

/// Steps 4a to 4f of section 10.3.
fn best<S: Signature>(mut left: Vec<&'static S>, actual: &[Type]) -> Choice<S> {
    let known = |at: &usize| actual[*at] != Type::UNKNOWN;
    let count = actual.len();
    keep_best(&mut left, |candidate| {
        (0..count).filter(known).filter(|&at| candidate.argument(at) == actual[at]).count()
    });
    if let [only] = left[..] {
        return Choice::One(only);
    }
    keep_best(&mut left, |candidate| {
        let fits = |at: &usize| {
            let declared = candidate.argument(*at);
            declared == actual[*at] || (declared.is_preferred() && category_of(declared) == actual[*at].category())
        };
        (0..count).filter(known).filter(fits).count()
    });
    if let [only] = left[..] {
        return Choice::One(only);
    }
    if actual.iter().all(|data_type| *data_type != Type::UNKNOWN) {
        return Choice::Several;
    }
    keep_by_category(&mut left, actual);
    if let [only] = left[..] {
        return Choice::One(only);
    }
    by_known_type(&left, actual)
}

/// Keeps the candidates with the highest score.
fn keep_best<S>(left: &mut Vec<&'static S>, score: impl Fn(&S) -> usize) {
    let best = left.iter().map(|candidate| score(candidate)).max().unwrap_or(0);
    left.retain(|candidate| score(candidate) == best);
}

/// Step 4e: at places of unknown type, texts win, else the category on which all candidates agree.
fn keep_by_category<S: Signature>(left: &mut Vec<&'static S>, actual: &[Type]) {
    let unknown: Vec<usize> = (0..actual.len()).filter(|&at| actual[at] == Type::UNKNOWN).collect();
    let mut wanted = Vec::with_capacity(unknown.len());
    for &at in &unknown {
        let categories: Vec<char> = left.iter().map(|candidate| category_of(candidate.argument(at))).collect();
        let category = if categories.contains(&'S') {
            'S'
        } else if categories.iter().all(|category| *category == categories[0]) {
            categories[0]
        } else {
            return;
        };
        let is_preferred = |candidate: &&S| {
            let declared = candidate.argument(at);
            category_of(declared) == category && declared.is_preferred()
        };
        wanted.push((at, category, left.iter().any(|candidate| is_preferred(&&**candidate))));
    }
    let fits = |candidate: &S| {
        wanted.iter().all(|&(at, category, preferred)| {
            let declared = candidate.argument(at);
            category_of(declared) == category && (!preferred || declared.is_preferred())
        })
    };
    if left.iter().any(|candidate| fits(candidate)) {
        left.retain(|candidate| fits(candidate));
    }
}

/// Step 4f: if all known arguments have one type, the unknown ones are taken for the same.
fn by_known_type<S: Signature>(left: &[&'static S], actual: &[Type]) -> Choice<S> {
    let mut known = actual.iter().filter(|data_type| **data_type != Type::UNKNOWN);
    let Some(first) = known.next() else { return Choice::Several };
    if known.any(|other| other != first) {
        return Choice::Several;
    }
    let assumed = vec![*first; actual.len()];
    let takes = |candidate: &&&'static S| accepts(&declared(**candidate, actual.len()), &assumed);
    let mut taking = left.iter().filter(takes);
    match (taking.next(), taking.next()) {
        (Some(only), None) => Choice::One(only),
        _ => Choice::Several,
    }
}
