//! Searches of regular expressions. One search of the `regex` crate takes time in proportion to the text and, where counted
//! repetitions make many states, to the pattern too, and cannot be interrupted. So a search that may take long runs here in
//! steps of a few bytes, over the same automata: a lazy DFA finds the ends of the match, and threads over the NFA (Pike's
//! machine) find its groups, or all of it where a DFA cannot (Unicode's word boundaries). Where PostgreSQL's rules make a
//! difference, only the start of this match counts, and [`Tree`] finds the rest.

use super::preference::{Places, Tree};
use super::regex::{COMPILED_BYTES, Options, too_complex};
use crate::error::Result;
use crate::interrupt::work;
use crate::memory::check_piece;
use ::regex::Regex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::regex as hybrid;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::{ControlFlow, Range};

/// Shorter texts are searched in one call: at most about 0.2 s with the largest pattern.
const SHORT: usize = 1024;
/// States times bytes of a search that is one call: at most about 0.1 s.
const QUICK: usize = 1 << 24;
/// Bytes between two counts of work.
const STEP: usize = 64;
/// Mark of a group's end that was not passed.
const ABSENT: usize = usize::MAX;
/// Slots of threads that are kept for the next search: half a megabyte in each set.
const KEPT_SLOTS: usize = 1 << 16;

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Regex,
    /// What it was compiled from, for the automata of long searches.
    translated: String,
    options: Options,
    /// Absent if both rules find the same.
    tree: Option<Tree>,
    automata: OnceCell<Automata>,
}

/// How the pattern's text is read.
pub(super) fn syntax(options: Options) -> syntax::Config {
    syntax::Config::new()
        .case_insensitive(options.caseless)
        .dot_matches_new_line(!options.dot_stops)
        .multi_line(options.lines)
        .ignore_whitespace(options.extended)
}

/// A match: its groups, the whole first.
pub(super) struct Groups<'t> {
    text: &'t str,
    places: Places,
}

impl<'t> Groups<'t> {
    /// The place of the whole match.
    pub(super) fn whole(&self) -> Range<usize> {
        self.places.first().cloned().flatten().unwrap_or(0..0)
    }

    /// Number of groups, the whole match included.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The text of a group, if it took part in the match.
    pub(super) fn get(&self, group: usize) -> Option<&'t str> {
        self.places.get(group)?.clone().map(|place| &self.text[place])
    }
}

impl Pattern {
    /// A pattern with its automaton for short searches.
    pub(super) fn new(regex: Regex, translated: String, options: Options, tree: Option<Tree>) -> Pattern {
        Pattern { regex, translated, options, tree, automata: OnceCell::new() }
    }

    /// Returns whether the text has a match.
    ///
    /// # Errors
    /// 57014 and its kin when the statement must stop, 53200 without memory for the search.
    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        match self.long_search(text, 0)? {
            Some(automata) => automata.has_match(text),
            None => Ok(self.regex.is_match(text)),
        }
    }

    /// The first match from a byte on.
    ///
    /// # Errors
    /// Errors of [`Pattern::is_match`].
    pub(super) fn find_at<'t>(&self, text: &'t str, at: usize) -> Result<Option<Groups<'t>>> {
        let Some(tree) = &self.tree else { return self.first_at(text, at) };
        let start = match self.long_search(text, at)? {
            Some(automata) => automata.find_start(text.as_bytes(), at)?,
            None => self.regex.find_at(text, at).map(|found| found.start()),
        };
        let Some(start) = start else { return Ok(None) };
        Ok(Some(Groups { text, places: tree.places(text.as_bytes(), start)? }))
    }

    /// The first match from a byte on, by the rules of the `regex` crate.
    fn first_at<'t>(&self, text: &'t str, at: usize) -> Result<Option<Groups<'t>>> {
        let places = match self.long_search(text, at)? {
            Some(automata) => automata.find(text.as_bytes(), at)?,
            None => {
                let mut found = self.regex.capture_locations();
                let is_found = self.regex.captures_read_at(&mut found, text, at).is_some();
                is_found.then(|| (0..found.len()).map(|group| found.get(group).map(|(from, to)| from..to)).collect())
            }
        };
        Ok(places.map(|places| Groups { text, places }))
    }

    /// The automata to search a text with in steps, if one call might take long.
    fn long_search(&self, text: &str, at: usize) -> Result<Option<&Automata>> {
        let length = text.len() - at;
        if length < SHORT {
            return Ok(None);
        }
        let automata = match self.automata.get() {
            Some(automata) => automata,
            None => {
                let compiled = Automata::compile(&self.translated, self.options)?;
                self.automata.get_or_init(|| compiled)
            }
        };
        Ok((automata.states().saturating_mul(length) > QUICK).then_some(automata))
    }
}

/// What a search in steps came to.
enum Found<T> {
    None,
    Some(T),
    /// The DFA cannot say.
    Unknown,
}

/// The automata of a pattern for searches in steps.
struct Automata {
    nfa: NFA,
    /// Absent if its reverse would be too large.
    dfa: Option<(hybrid::Regex, RefCell<hybrid::Cache>)>,
    /// Threads of the last search, to be used again if they are small.
    kept: Cell<Option<(Threads, Threads)>>,
}

impl Automata {
    fn compile(pattern: &str, options: Options) -> Result<Automata> {
        let syntax = syntax(options);
        let config = NFA::config().nfa_size_limit(Some(COMPILED_BYTES));
        let nfa = NFA::compiler().syntax(syntax).configure(config.clone()).build(pattern).map_err(|_| too_complex())?;
        let lazy = DFA::config().unicode_word_boundary(true).skip_cache_capacity_check(true);
        let dfa = hybrid::Regex::builder().syntax(syntax).thompson(config).dfa(lazy).build(pattern).ok();
        let with_cache = |dfa: hybrid::Regex| {
            let cache = RefCell::new(dfa.create_cache());
            (dfa, cache)
        };
        Ok(Automata { nfa, dfa: dfa.map(with_cache), kept: Cell::new(None) })
    }

    fn states(&self) -> usize {
        self.nfa.states().len()
    }

    fn has_match(&self, text: &str) -> Result<bool> {
        let text = text.as_bytes();
        if let Some((dfa, cache)) = &self.dfa {
            match self.end(dfa.forward(), cache.borrow_mut().forward_mut(), text, 0, true)? {
                Found::None => return Ok(false),
                Found::Some(_) => return Ok(true),
                Found::Unknown => {}
            }
        }
        Ok(self.threads(text, 0..text.len(), false, true)?.is_some())
    }

    /// The places of the groups of the first match from a byte on.
    fn find(&self, text: &[u8], at: usize) -> Result<Option<Places>> {
        match self.whole(text, at)? {
            Found::None => Ok(None),
            Found::Some(whole) if self.nfa.group_info().all_group_len() == 1 => Ok(Some(vec![Some(whole)])),
            Found::Some(whole) => self.threads(text, whole, true, false),
            Found::Unknown => self.threads(text, at..text.len(), false, false),
        }
    }

    /// The start of the first match from a byte on.
    fn find_start(&self, text: &[u8], at: usize) -> Result<Option<usize>> {
        let whole = match self.whole(text, at)? {
            Found::None => None,
            Found::Some(whole) => Some(whole),
            Found::Unknown => {
                self.threads(text, at..text.len(), false, false)?.and_then(|places| places.into_iter().next().flatten())
            }
        };
        Ok(whole.map(|whole| whole.start))
    }

    /// The place of the first match from a byte on.
    fn whole(&self, text: &[u8], at: usize) -> Result<Found<Range<usize>>> {
        let Some((dfa, cache)) = &self.dfa else { return Ok(Found::Unknown) };
        let mut cache = cache.borrow_mut();
        let end = match self.end(dfa.forward(), cache.forward_mut(), text, at, false)? {
            Found::None => return Ok(Found::None),
            Found::Some(end) => end,
            Found::Unknown => return Ok(Found::Unknown),
        };
        Ok(match self.start(dfa.reverse(), cache.reverse_mut(), text, at..end)? {
            Found::Some(start) => Found::Some(start..end),
            _ => Found::Unknown,
        })
    }

    /// The end of the first match from a byte on; the end of any if `earliest`.
    fn end(&self, dfa: &DFA, cache: &mut Cache, text: &[u8], from: usize, earliest: bool) -> Result<Found<usize>> {
        let mut end = None;
        let input = Input::new(text).span(from..text.len());
        let is_known = each_end(dfa, cache, &input, &mut |at| {
            end = Some(at);
            if earliest { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(match end {
            _ if !is_known => Found::Unknown,
            Some(end) => Found::Some(end),
            None => Found::None,
        })
    }

    /// The start of the match that ends where the span does: the leftmost in the span.
    fn start(&self, dfa: &DFA, cache: &mut Cache, text: &[u8], span: Range<usize>) -> Result<Found<usize>> {
        let input = Input::new(text).span(span.clone()).anchored(Anchored::Yes);
        let Ok(mut state) = dfa.start_state_reverse(cache, &input) else { return Ok(Found::Unknown) };
        let mut start = None;
        for (at, byte) in text[..span.end].iter().enumerate().skip(span.start).rev() {
            if (span.end - at).is_multiple_of(STEP) {
                count_step(&self.nfa)?;
            }
            let Ok(next) = dfa.next_state(cache, state, *byte) else { return Ok(Found::Unknown) };
            state = next;
            if state.is_match() {
                start = Some(at + 1);
            } else if state.is_dead() {
                return Ok(start.map_or(Found::Unknown, Found::Some));
            } else if state.is_quit() {
                return Ok(Found::Unknown);
            }
        }
        let last = match span.start.checked_sub(1) {
            Some(before) => dfa.next_state(cache, state, text[before]),
            None => dfa.next_eoi_state(cache, state),
        };
        match last {
            Ok(state) if state.is_match() => Ok(Found::Some(span.start)),
            Ok(state) if !state.is_quit() => Ok(start.map_or(Found::Unknown, Found::Some)),
            _ => Ok(Found::Unknown),
        }
    }

    fn empty_threads(&self) -> Result<(Threads, Threads)> {
        if let Some((mut now, mut next)) = self.kept.take() {
            now.list.clear();
            next.list.clear();
            return Ok((now, next));
        }
        let (states, slots) = (self.states(), self.nfa.group_info().slot_len());
        check_piece(states.saturating_mul(slots * size_of::<usize>()).saturating_mul(2))?;
        Ok((Threads::new(states, slots), Threads::new(states, slots)))
    }

    /// The places of the groups of the first match in the span, by all threads in parallel; of any match if `earliest`.
    fn threads(&self, text: &[u8], span: Range<usize>, is_anchored: bool, earliest: bool) -> Result<Option<Places>> {
        let (mut now, mut next) = self.empty_threads()?;
        let mut closure = Closure::new(&self.nfa, text, now.width);
        let mut found: Option<Vec<usize>> = None;
        for at in span.start..=span.end {
            if found.is_none() && (!is_anchored || at == span.start) {
                closure.slots.fill(ABSENT);
                closure.follow(self.nfa.start_anchored(), at, &mut now);
            } else if now.list.is_empty() {
                break;
            }
            work(8 * (now.list.len() + 1))?;
            for number in 0..now.list.len() {
                let state = now.list[number];
                if let State::Match { .. } = self.nfa.state(state) {
                    found = Some(now.slots_of(state).to_vec());
                    break;
                }
                // A byte beyond the span has no part in the match.
                if at < span.end
                    && let Some(target) = target(&self.nfa, state, text, at)
                {
                    closure.slots.copy_from_slice(now.slots_of(state));
                    closure.follow(target, at + 1, &mut next);
                }
            }
            if earliest && found.is_some() {
                break;
            }
            std::mem::swap(&mut now, &mut next);
            next.list.clear();
        }
        if now.slots.len() <= KEPT_SLOTS {
            self.kept.set(Some((now, next)));
        }
        let place = |pair: &[usize]| (pair[0] != ABSENT && pair[1] != ABSENT).then(|| pair[0]..pair[1]);
        Ok(found.map(|slots| slots.chunks_exact(2).map(place).collect()))
    }
}

/// Shows where the matches end that a DFA finds, until `visit` breaks. A state says so one byte late. Returns false if the DFA
/// cannot say.
///
/// # Errors
/// 57014 and its kin when the statement must stop.
pub(super) fn each_end(
    dfa: &DFA,
    cache: &mut Cache,
    input: &Input<'_>,
    visit: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<bool> {
    let (text, span) = (input.haystack(), input.get_range());
    let Ok(mut state) = dfa.start_state_forward(cache, input) else { return Ok(false) };
    for at in span.start..=span.end {
        if (at - span.start).is_multiple_of(STEP) {
            count_step(dfa.get_nfa())?;
        }
        let next = match text.get(at) {
            Some(byte) => dfa.next_state(cache, state, *byte),
            None => dfa.next_eoi_state(cache, state),
        };
        let Ok(next) = next else { return Ok(false) };
        state = next;
        if !state.is_tagged() {
            continue;
        }
        if state.is_match() {
            if visit(at).is_break() {
                break;
            }
        } else if state.is_dead() {
            break;
        } else if state.is_quit() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts a step of a DFA: each of its bytes may make a state, from all of the NFA's.
fn count_step(nfa: &NFA) -> Result<()> {
    work(nfa.states().len().saturating_mul(STEP))
}

/// Where a thread in a state goes by the byte at a place.
pub(super) fn target(nfa: &NFA, state: StateID, text: &[u8], at: usize) -> Option<StateID> {
    match nfa.state(state) {
        State::ByteRange { trans } => trans.matches(text, at).then_some(trans.next),
        State::Sparse(transitions) => transitions.matches(text, at),
        State::Dense(transitions) => transitions.matches(text, at),
        _ => None,
    }
}

/// The states in which threads are, by priority, with the groups that each has passed.
pub(super) struct Threads {
    pub(super) list: Vec<StateID>,
    /// Where in the list a state would be: it is there if the list says so too.
    places: Vec<usize>,
    slots: Vec<usize>,
    width: usize,
}

impl Threads {
    pub(super) fn new(states: usize, width: usize) -> Threads {
        Threads { list: Vec::new(), places: vec![0; states], slots: vec![ABSENT; states * width], width }
    }

    /// Adds a state. Returns false if a thread of higher priority is there.
    fn insert(&mut self, state: StateID) -> bool {
        let place = self.places[state.as_usize()];
        if self.list.get(place) == Some(&state) {
            return false;
        }
        self.places[state.as_usize()] = self.list.len();
        self.list.push(state);
        true
    }

    fn slots_of(&self, state: StateID) -> &[usize] {
        &self.slots[state.as_usize() * self.width..][..self.width]
    }
}

/// Where to go on when a branch has been followed to its end.
enum Task {
    Follow(StateID),
    Restore { slot: usize, place: usize },
}

/// Follows transitions that take no byte.
pub(super) struct Closure<'a> {
    nfa: &'a NFA,
    text: &'a [u8],
    slots: Vec<usize>,
    stack: Vec<Task>,
}

impl<'a> Closure<'a> {
    pub(super) fn new(nfa: &'a NFA, text: &'a [u8], width: usize) -> Closure<'a> {
        Closure { nfa, text, slots: vec![ABSENT; width], stack: Vec::new() }
    }

    pub(super) fn follow(&mut self, from: StateID, at: usize, threads: &mut Threads) {
        self.stack.push(Task::Follow(from));
        while let Some(task) = self.stack.pop() {
            match task {
                Task::Restore { slot, place } => self.slots[slot] = place,
                Task::Follow(state) => self.follow_one(state, at, threads),
            }
        }
    }

    fn follow_one(&mut self, state: StateID, at: usize, threads: &mut Threads) {
        if !threads.insert(state) {
            return;
        }
        match self.nfa.state(state) {
            State::Look { look, next } => {
                if self.nfa.look_matcher().matches(*look, self.text, at) {
                    self.stack.push(Task::Follow(*next));
                }
            }
            State::Union { alternates } => {
                self.stack.extend(alternates.iter().rev().map(|state| Task::Follow(*state)));
            }
            State::BinaryUnion { alt1, alt2 } => self.stack.extend([Task::Follow(*alt2), Task::Follow(*alt1)]),
            State::Capture { next, slot, .. } => {
                let slot = slot.as_usize();
                if let Some(place) = self.slots.get_mut(slot) {
                    self.stack.push(Task::Restore { slot, place: *place });
                    *place = at;
                }
                self.stack.push(Task::Follow(*next));
            }
            _ => {
                let from = state.as_usize() * threads.width;
                threads.slots[from..][..threads.width].copy_from_slice(&self.slots);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::regex::compiled;
    use super::*;

    /// Patterns with what is hard in them: priorities, empty matches, lines, words, counted groups, letters of several bytes.
    const PATTERNS: &[&str] = &[
        "b",
        "",
        "a*",
        "a*?b",
        "(a|ab)(c|bcd)(d*)",
        "(a+)(b+)?",
        "^a|b$",
        "(?w)^.*$",
        "\\mab\\M",
        "\\yäb",
        "(ä|b)+",
        "[^a]{2,3}",
        "((a|b){2}c?)*d",
        "x*",
        "(a?){3}b",
        "(?i)ÄB",
    ];
    const TEXTS: &[&str] =
        &["", "a", "abcd", "aabbab ab abd", "äb ab\nab äb\nbb", "cabdabcabd", "bbb\n", "xxaxbx ÄbäB", "ababcababd"];

    type Places = Vec<Vec<Option<Range<usize>>>>;

    /// All matches of a text, searched as `find` says.
    fn all(text: &str, find: impl Fn(usize) -> Option<Vec<Option<Range<usize>>>>) -> Places {
        let (mut at, mut found) = (0, Vec::new());
        while let Some(places) = (at <= text.len()).then(|| find(at)).flatten() {
            let whole = places[0].clone().expect("a match has a place");
            let empty = text[whole.end..].chars().next().map_or(1, char::len_utf8);
            at = whole.end + if whole.is_empty() { empty } else { 0 };
            found.push(places);
        }
        found
    }

    /// Steps find what the `regex` crate finds, by DFA and by threads.
    #[test]
    fn steps_find_what_one_call_finds() {
        let mut by_dfa = 0;
        for pattern in PATTERNS {
            let pattern = compiled(pattern, Options::default()).expect("a pattern");
            let automata = Automata::compile(&pattern.translated, pattern.options).expect("a pattern");
            for text in TEXTS {
                let quick = all(text, |at| pattern.first_at(text, at).expect("short").map(|groups| groups.places));
                let bytes = text.as_bytes();
                let stepped = all(text, |at| automata.find(bytes, at).expect("no limit"));
                assert_eq!(stepped, quick, "{} in {text:?}", pattern.translated);
                let threads = all(text, |at| automata.threads(bytes, at..bytes.len(), false, false).expect("no limit"));
                assert_eq!(threads, quick, "{} in {text:?} by threads", pattern.translated);
                assert_eq!(automata.has_match(text).expect("no limit"), !quick.is_empty());
                by_dfa += usize::from(!matches!(automata.whole(bytes, 0).expect("no limit"), Found::Unknown));
            }
        }
        assert!(by_dfa > PATTERNS.len() * TEXTS.len() / 2, "{by_dfa}: most searches need no threads");
    }

    /// A long text takes the steps, and what they find is the same.
    #[test]
    fn long_texts_are_searched_in_steps() {
        let text = format!("{}xaab{}", "ä ".repeat(200_000), "ab".repeat(300_000));
        let pattern = compiled("x(a{1,50})(b)", Options::default()).expect("a pattern");
        assert!(pattern.long_search(&text, 0).expect("compiled").is_some());
        assert!(pattern.long_search("xab", 0).expect("compiled").is_none());
        let groups = pattern.find_at(&text, 0).expect("no limit").expect("a match");
        assert_eq!((groups.get(0), groups.get(1), groups.get(2)), (Some("xaab"), Some("aa"), Some("b")));
        assert_eq!(groups.whole(), 600_000..600_004);
        assert!(pattern.is_match(&text).expect("no limit"));
        assert!(pattern.find_at(&text, 600_004).expect("no limit").is_none());
    }

    /// Where the DFA gives up, at a letter of several bytes beside a word's boundary, threads find the same ends.
    #[test]
    fn preferences_hold_beyond_a_dfa_and_in_long_texts() {
        let groups = |pattern: &str, text: &str| {
            let found = compiled(pattern, Options::default()).expect("a pattern").find_at(text, 0).expect("no limit");
            let found = found.expect("a match");
            (0..found.len()).map(|group| found.get(group).unwrap_or("-").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(groups("(b|bä+)\\y", "xbäää ä"), ["bäää", "bäää"]);
        assert_eq!(groups("(b|bä+)(ä\\y)", "xbäää ä"), ["bäää", "bää", "ä"]);
        let long = format!("{}x{}", "ä ".repeat(100_000), "ab".repeat(100_000));
        assert_eq!(groups("x(a|ab)(ba|c)(b?)", &long), ["xabab", "a", "ba", "b"]);
        assert_eq!(groups("x(?:(a)|(b)|(ab))*", &long)[1..], ["-", "-", "ab"]);
    }
}
