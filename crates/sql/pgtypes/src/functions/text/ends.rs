//! All ends of the matches of a part of a pattern that begin at one place.

use super::regex::{COMPILED_BYTES, Options, too_complex};
use super::search::{Closure, Threads, each_end, syntax, target};
use crate::error::Result;
use crate::interrupt::work;
use crate::memory::check_piece;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, NFA, State, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind};
use std::cell::RefCell;
use std::ops::{ControlFlow, Range};

/// Sees an end; breaks when it has seen enough. It may be shown ends that it has seen.
type Visit<'v> = dyn FnMut(usize) -> ControlFlow<()> + 'v;

/// A part's automata: a lazy DFA, and the NFA for what a DFA cannot say (Unicode's word boundaries).
pub(super) struct Ends {
    nfa: NFA,
    dfa: Option<(DFA, RefCell<Cache>)>,
}

impl Ends {
    /// Compiles a part.
    ///
    /// # Errors
    /// 2201B if the automaton would be too large.
    pub(super) fn compile(part: &str, options: Options) -> Result<Ends> {
        let config = NFA::config().nfa_size_limit(Some(COMPILED_BYTES)).which_captures(WhichCaptures::None);
        let nfa = Compiler::new().syntax(syntax(options)).configure(config).build(part).map_err(|_| too_complex())?;
        let lazy = DFA::config().match_kind(MatchKind::All).unicode_word_boundary(true).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(lazy).build_from_nfa(nfa.clone()).ok();
        let with_cache = |dfa: DFA| {
            let cache = RefCell::new(dfa.create_cache());
            (dfa, cache)
        };
        Ok(Ends { nfa, dfa: dfa.map(with_cache) })
    }

    /// The ends in the span of the matches that begin where it does, ascending.
    ///
    /// # Errors
    /// 57014 and its kin when the statement must stop, 53200 without memory for the search.
    pub(super) fn all(&self, text: &[u8], span: Range<usize>) -> Result<Vec<usize>> {
        let mut ends: Vec<usize> = Vec::new();
        let mut checked = Ok(());
        self.each(text, span, &mut |end| {
            if ends.last().is_none_or(|last| *last < end) {
                if ends.len() == ends.capacity() {
                    checked = check_piece(2 * size_of_val(ends.as_slice()));
                }
                ends.push(end);
            }
            if checked.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        checked.map(|()| ends)
    }

    /// The longest or the shortest of them.
    ///
    /// # Errors
    /// Errors of [`Ends::all`].
    pub(super) fn preferred(&self, text: &[u8], span: Range<usize>, is_longest: bool) -> Result<Option<usize>> {
        let mut found = None;
        self.each(text, span, &mut |end| {
            found = Some(end);
            if is_longest { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }

    /// Returns whether the part matches the whole span.
    ///
    /// # Errors
    /// Errors of [`Ends::all`].
    pub(super) fn is_whole(&self, text: &[u8], span: Range<usize>) -> Result<bool> {
        Ok(self.preferred(text, span.clone(), true)? == Some(span.end))
    }

    fn each(&self, text: &[u8], span: Range<usize>, visit: &mut Visit<'_>) -> Result<()> {
        let input = Input::new(text).span(span.clone()).anchored(Anchored::Yes);
        if let Some((dfa, cache)) = &self.dfa
            && each_end(dfa, &mut cache.borrow_mut(), &input, visit)?
        {
            return Ok(());
        }
        self.each_by_threads(text, span, visit)
    }

    fn each_by_threads(&self, text: &[u8], span: Range<usize>, visit: &mut Visit<'_>) -> Result<()> {
        let states = self.nfa.states().len();
        check_piece(states.saturating_mul(4 * size_of::<usize>()))?;
        let (mut now, mut next) = (Threads::new(states, 0), Threads::new(states, 0));
        let mut closure = Closure::new(&self.nfa, text, 0);
        closure.follow(self.nfa.start_anchored(), span.start, &mut now);
        for at in span.start..=span.end {
            work(8 * (now.list.len() + 1))?;
            let is_end = now.list.iter().any(|state| matches!(self.nfa.state(*state), State::Match { .. }));
            if is_end && visit(at).is_break() {
                break;
            }
            if at == span.end || now.list.is_empty() {
                break;
            }
            for state in &now.list {
                if let Some(target) = target(&self.nfa, *state, text, at) {
                    closure.follow(target, at + 1, &mut next);
                }
            }
            std::mem::swap(&mut now, &mut next);
            next.list.clear();
        }
        Ok(())
    }
}
