//! Texts and byte strings of a column: one behind the other, or by their places in a dictionary.

use std::sync::Arc;

/// Texts or byte strings. Equal if all are, in whatever form.
#[derive(Clone, Debug)]
pub struct Strings(Form);

#[derive(Clone, Debug)]
enum Form {
    /// All of them.
    Plain(Dictionary),
    /// Their codes.
    Coded(Coded),
}

/// Some byte strings, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

/// Byte strings by their numbers in a dictionary.
#[derive(Clone, Debug, Default)]
pub struct Coded {
    /// The byte strings, each once.
    pub dictionary: Arc<Dictionary>,
    /// The number of each row's.
    pub codes: Vec<u16>,
}

impl Dictionary {
    /// Number of byte strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// Appends one.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// All of them, one behind the other, and where each ends.
    pub fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }

    /// Returns the bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<usize>() * self.ends.capacity()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

impl Default for Strings {
    fn default() -> Strings {
        Strings(Form::Plain(Dictionary::default()))
    }
}

impl PartialEq for Strings {
    fn eq(&self, other: &Strings) -> bool {
        self.len() == other.len() && (0..self.len()).all(|row| self.get(row) == other.get(row))
    }
}

impl Eq for Strings {}

impl Strings {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Plain(all) => all.len(),
            Form::Coded(coded) => coded.codes.len(),
        }
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one row; those of a text are UTF-8.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> &[u8] {
        match &self.0 {
            Form::Plain(all) => all.get(row),
            Form::Coded(coded) => coded.dictionary.get(usize::from(coded.codes[row])),
        }
    }

    /// Appends one. What is appended to texts is UTF-8.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if let Form::Coded(_) = &self.0 {
            self.decode();
        }
        if let Form::Plain(all) = &mut self.0 {
            all.push(bytes);
        }
    }

    /// The codes of a dictionary, to append to; `None` if rows are there that are not of it.
    pub fn codes_mut(&mut self, dictionary: &Arc<Dictionary>) -> Option<&mut Vec<u16>> {
        if self.is_empty() {
            self.0 = Form::Coded(Coded { dictionary: dictionary.clone(), codes: Vec::new() });
        }
        match &mut self.0 {
            Form::Coded(coded) if Arc::ptr_eq(&coded.dictionary, dictionary) => Some(&mut coded.codes),
            _ => None,
        }
    }

    /// All of them with their codes.
    ///
    /// # Errors
    /// There are none: they stand one behind the other.
    pub fn into_coded(self) -> Result<Coded, Dictionary> {
        match self.0 {
            Form::Plain(all) => Err(all),
            Form::Coded(coded) => Ok(coded),
        }
    }

    fn decode(&mut self) {
        if let Form::Coded(Coded { dictionary, codes }) = &self.0 {
            let mut all = Dictionary::default();
            codes.iter().for_each(|&code| all.push(dictionary.get(usize::from(code))));
            self.0 = Form::Plain(all);
        }
    }

    pub(super) fn clear(&mut self) {
        match &mut self.0 {
            Form::Plain(all) => all.clear(),
            Form::Coded(_) => *self = Strings::default(),
        }
    }
}
