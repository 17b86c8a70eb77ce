//! Comment lines of a source file, and findings on them.

use super::source::SourceFile;
use super::{Finding, Weight};

/// Columns of a comment line.
const MAX_COLUMNS: usize = 140;

/// A line that is a comment from its beginning.
pub struct CommentLine<'f> {
    /// From 1.
    pub number: usize,
    /// Number of columns of the whole line.
    pub columns: usize,
    /// Text after the marker.
    pub text: &'f str,
    /// In a code block of the documentation.
    pub is_code: bool,
}

/// Returns the comment lines of a file.
pub fn comment_lines(file: &SourceFile) -> Vec<CommentLine<'_>> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let text = comment.trim_start_matches(['/', '!']).trim();
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        lines.push(CommentLine {
            number: index + 1,
            columns: line.chars().count(),
            text,
            is_code: is_code || is_fence,
        });
    }
    lines
}

/// Fails on comment lines that are too wide. Tables, code blocks and addresses cannot be broken.
pub fn check_width(file: &SourceFile) -> Vec<Finding> {
    let may_be_wide = |line: &CommentLine| line.is_code || line.text.starts_with('|') || line.text.contains("://");
    let wide = comment_lines(file).into_iter().filter(|line| line.columns > MAX_COLUMNS && !may_be_wide(line));
    let finding = |line: CommentLine| Finding {
        weight: Weight::Fails,
        path: file.path.clone(),
        line: line.number,
        rule: "width",
        message: format!("a comment of {} columns; {MAX_COLUMNS} is the limit", line.columns),
    };
    wide.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide_lines(text: &str) -> Vec<usize> {
        let file = SourceFile::new("crates/x/src/lib.rs", text.to_owned(), false).expect("Rust");
        check_width(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_wide_comment_fails_at_its_line_and_code_is_rustfmt_s() {
        let (fits, wide) = ("x".repeat(MAX_COLUMNS - 4), "x".repeat(MAX_COLUMNS - 3));
        let text = format!("/// {fits}\n/// {wide}\nfn f() {{\n    //! {fits}\n    let _ = \"{wide}\";\n}}\n");
        assert_eq!(wide_lines(&text), [2, 4]);
    }

    #[test]
    fn tables_code_blocks_and_addresses_may_be_wide() {
        let wide = "x".repeat(MAX_COLUMNS);
        let text = format!("//! | {wide} |\n//! ```text\n//! {wide}\n//! ```\n//! <https://a.b/{wide}>\n//! {wide}\n");
        assert_eq!(wide_lines(&text), [6]);
    }
}
