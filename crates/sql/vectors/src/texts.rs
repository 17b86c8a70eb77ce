//! Texts of a column: one behind the other, or by their numbers in a dictionary where an engine stores them so.

use crate::column::ABSENT;
use pgtypes::Result;
use pgtypes::memory::{check_large, reserve};
use smol_str::SmolStr;
use std::sync::Arc;

/// Texts, one for each row.
#[derive(Clone, Debug)]
pub struct Texts(Form);

#[derive(Clone, Debug)]
enum Form {
    Plain(Plain),
    Coded(Arc<Plain>, Vec<u16>),
}

/// Texts, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Plain {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Plain {
    /// Texts that stand one behind the other, in UTF-8, and where each ends.
    pub fn from_parts(bytes: Vec<u8>, ends: Vec<usize>) -> Plain {
        Plain { bytes, ends }
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of one, which are UTF-8.
    #[inline]
    pub fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    fn bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * 8
    }
}

impl Default for Texts {
    fn default() -> Texts {
        Texts(Form::Plain(Plain::default()))
    }
}

impl From<Plain> for Texts {
    fn from(all: Plain) -> Texts {
        Texts(Form::Plain(all))
    }
}

impl Texts {
    /// Texts by their numbers in a dictionary, which has each once.
    pub fn coded(dictionary: Plain, codes: Vec<u16>) -> Texts {
        Texts(Form::Coded(Arc::new(dictionary), codes))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Plain(all) => all.len(),
            Form::Coded(_, codes) => codes.len(),
        }
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one row, which are UTF-8.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        match &self.0 {
            Form::Plain(all) => all.get(row),
            Form::Coded(dictionary, codes) => dictionary.get(usize::from(codes[row])),
        }
    }

    /// The dictionary, and the number of each row's text in it, if there is one.
    pub fn codes(&self) -> Option<(&Plain, &[u16])> {
        match &self.0 {
            Form::Plain(_) => None,
            Form::Coded(dictionary, codes) => Some((dictionary, codes)),
        }
    }

    /// What a test says of each row's text: of each text of a dictionary it is asked once.
    pub fn test(&self, holds: impl Fn(&[u8]) -> bool) -> Vec<bool> {
        match &self.0 {
            Form::Plain(all) => all.iter().map(holds).collect(),
            Form::Coded(dictionary, codes) => {
                let truths: Vec<bool> = dictionary.iter().map(holds).collect();
                codes.iter().map(|&code| truths[usize::from(code)]).collect()
            }
        }
    }

    /// Appends the bytes of a row, which are UTF-8.
    pub fn push(&mut self, bytes: &[u8]) {
        self.plain().push(bytes);
    }

    /// Makes room for the texts of other rows.
    ///
    /// # Errors
    /// 53200.
    pub fn reserve(&mut self, other: &Texts) -> Result<()> {
        let Form::Plain(own) = &mut self.0 else {
            return check_large(self.spelled_bytes() + other.spelled_bytes());
        };
        reserve(&mut own.ends, other.len())?;
        reserve(&mut own.bytes, other.spelled_bytes())
    }

    /// Bytes of the rows' texts and of their ends, one behind the other.
    fn spelled_bytes(&self) -> usize {
        match &self.0 {
            Form::Plain(all) => all.bytes(),
            Form::Coded(dictionary, codes) => {
                codes.iter().map(|&code| dictionary.get(usize::from(code)).len() + size_of::<usize>()).sum()
            }
        }
    }

    /// Appends the texts of other rows.
    pub fn append(&mut self, other: &Texts) {
        let own = self.plain();
        match &other.0 {
            Form::Plain(others) => {
                let start = own.bytes.len();
                own.bytes.extend_from_slice(&others.bytes);
                own.ends.extend(others.ends.iter().map(|end| start + end));
            }
            Form::Coded(dictionary, codes) => {
                codes.iter().for_each(|&code| own.push(dictionary.get(usize::from(code))));
            }
        }
    }

    /// The texts of these rows; any text for [`ABSENT`].
    pub fn gather(&self, rows: &[u32]) -> Texts {
        Texts(match &self.0 {
            Form::Plain(all) => {
                let mut gathered = Plain { bytes: Vec::new(), ends: Vec::with_capacity(rows.len()) };
                rows.iter().for_each(|&row| gathered.push(if row == ABSENT { &[] } else { all.get(row as usize) }));
                Form::Plain(gathered)
            }
            Form::Coded(dictionary, codes) => {
                let code = |row: &u32| codes.get(*row as usize).copied().unwrap_or(0);
                Form::Coded(dictionary.clone(), rows.iter().map(code).collect())
            }
        })
    }

    /// The text of a row.
    pub fn text(&self, row: usize) -> SmolStr {
        // Only texts are appended, so nothing is replaced.
        SmolStr::from(String::from_utf8_lossy(self.get(row)))
    }

    /// The texts without a dictionary, to append to.
    fn plain(&mut self) -> &mut Plain {
        if let Form::Coded(dictionary, codes) = &self.0 {
            let mut all = Plain::default();
            codes.iter().for_each(|&code| all.push(dictionary.get(usize::from(code))));
            self.0 = Form::Plain(all);
        }
        match &mut self.0 {
            Form::Plain(all) => all,
            Form::Coded(..) => unreachable!("just decoded"),
        }
    }

    /// Approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Form::Plain(all) => all.bytes(),
            Form::Coded(dictionary, codes) => dictionary.bytes() + codes.len() * 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(texts: &[&str]) -> Plain {
        let mut all = Plain::default();
        texts.iter().for_each(|text| all.push(text.as_bytes()));
        all
    }

    fn listed(texts: &Texts) -> Vec<String> {
        (0..texts.len()).map(|row| texts.text(row).to_string()).collect()
    }

    /// Whatever is done to texts with a dictionary and to the same texts without one gives the same texts.
    #[test]
    fn a_dictionary_changes_nothing() {
        let coded = || Texts::coded(plain(&["", "one", "three"]), vec![1, 0, 2, 2, 1]);
        let without = || Texts::from(plain(&["one", "", "three", "three", "one"]));
        assert_eq!(listed(&coded()), listed(&without()));
        for rows in [&[][..], &[4, 4, 0], &[2, 1, 3]] {
            assert_eq!(listed(&coded().gather(rows)), listed(&without().gather(rows)));
        }
        assert_eq!(coded().gather(&[0, ABSENT]).len(), 2);
        for other in [coded(), without(), Texts::default()] {
            let (mut left, mut right) = (coded(), without());
            left.append(&other);
            right.append(&other);
            left.push(b"two");
            right.push(b"two");
            assert_eq!(listed(&left), listed(&right));
        }
        let has_e = |text: &[u8]| text.contains(&b'e');
        assert_eq!(coded().test(has_e), without().test(has_e));
    }
}
