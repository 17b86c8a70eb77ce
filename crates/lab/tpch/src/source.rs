//! Rows for tables, whichever they are.

/// Tables and their rows, the same at every call.
pub trait Source {
    /// The tables, as statements of SQL.
    fn schema(&self) -> &str;

    /// The tables' names, those first that others refer to.
    fn tables(&self) -> &[&str];

    /// Shows the rows of a table as lines for COPY with the delimiter `|`, many lines at a time.
    ///
    /// # Errors
    /// Errors of `visit`.
    fn lines<E>(&self, table: &str, visit: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E>;
}

/// Bytes of the lines that are shown together.
const TOGETHER: usize = 1 << 20;

/// Lines on their way to a visitor.
pub(crate) struct Lines<'v, E> {
    text: String,
    visit: &'v mut dyn FnMut(&str) -> Result<(), E>,
}

impl<'v, E> Lines<'v, E> {
    pub fn new(visit: &'v mut dyn FnMut(&str) -> Result<(), E>) -> Lines<'v, E> {
        Lines { text: String::new(), visit }
    }

    /// Adds a line; `write` appends it without its end.
    pub fn line(&mut self, write: impl FnOnce(&mut String)) -> Result<(), E> {
        write(&mut self.text);
        self.text.push('\n');
        if self.text.len() >= TOGETHER { self.leave() } else { Ok(()) }
    }

    /// Shows what has not been shown.
    pub fn leave(&mut self) -> Result<(), E> {
        if !self.text.is_empty() {
            (self.visit)(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}
