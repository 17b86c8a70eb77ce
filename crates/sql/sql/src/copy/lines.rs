//! Splits bytes, in pieces of any size, into lines.

use super::{LINE_LIMIT, bad_format, line_too_long};
use crate::error::{Result, SqlError};
use std::ops::Range;

/// Line ending of a stream: that of its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Newline,
    Return,
    ReturnNewline,
}

/// The characters that quote and escape in CSV.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoting {
    pub(super) quote: u8,
    pub(super) escape: u8,
}

/// Collects bytes and gives out lines. No byte is looked at twice, however small the pieces are.
#[derive(Debug)]
pub(super) struct Lines {
    /// CSV: line ends within quotes belong to the line.
    quoting: Option<Quoting>,
    buffer: Vec<u8>,
    /// Start of the current line.
    start: usize,
    /// End of the examined bytes.
    at: usize,
    /// Whether the line at `start` has been counted.
    counted: bool,
    in_quotes: bool,
    after_escape: bool,
    ending: Option<Ending>,
    /// The number of the current line, from 1; line ends within quotes count.
    number: u64,
    /// Whether the end marker came; the bytes after it are ignored.
    ended: bool,
    /// Whether the input is complete.
    closed: bool,
}

/// Result of examining the next bytes.
enum Step {
    /// A byte of the line; this many are used up.
    Data(usize),
    /// The line's end, of this many bytes.
    End(usize),
    /// The end marker.
    Marker,
    /// More bytes are needed to tell.
    Unclear,
}

impl Lines {
    pub(super) fn new(quoting: Option<Quoting>) -> Lines {
        Lines {
            quoting,
            buffer: vec![],
            start: 0,
            at: 0,
            counted: false,
            in_quotes: false,
            after_escape: false,
            ending: None,
            number: 0,
            ended: false,
            closed: false,
        }
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.ended {
            return;
        }
        self.buffer.drain(..self.start);
        self.at -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Ends the input: the remaining bytes are the last line.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The number of the line that was given out last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The number of the line that is not complete, from 1; `None` after the end marker.
    pub(super) fn unfinished(&self) -> Option<u64> {
        (!self.ended).then_some(self.number + u64::from(!self.counted))
    }

    /// The bytes of a line.
    pub(super) fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// The bytes of a line and the first of its end: messages about a character that the line cuts short show it.
    pub(super) fn bytes_and_end(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line.start..self.buffer.len().min(line.end + 1)]
    }

    /// Returns the next line, without its end; `None` if it is incomplete, or the input has ended.
    ///
    /// # Errors
    /// 22P04 for line ends of another kind than the first, and for a malformed end marker; 54000 for a line that is too
    /// long.
    pub(super) fn next(&mut self) -> Result<Option<Range<usize>>> {
        if self.ended {
            return Ok(None);
        }
        if !self.counted && self.start < self.buffer.len() {
            self.number += 1;
            self.counted = true;
        }
        while let Some(&byte) = self.buffer.get(self.at) {
            match self.step(byte)? {
                Step::Data(bytes) => self.at += bytes,
                Step::End(bytes) => return Ok(Some(self.cut(bytes))),
                Step::Marker => {
                    self.ended = true;
                    return Ok((self.at > self.start).then_some(self.start..self.at));
                }
                Step::Unclear => break,
            }
            if self.at - self.start > LINE_LIMIT {
                return Err(line_too_long());
            }
        }
        if self.closed && self.start < self.buffer.len() {
            self.at = self.buffer.len();
            return Ok(Some(self.cut(0)));
        }
        Ok(None)
    }

    /// Ends the line here; its end has this many bytes.
    fn cut(&mut self, ending: usize) -> Range<usize> {
        let line = self.start..self.at;
        self.at += ending;
        self.start = self.at;
        (self.counted, self.in_quotes, self.after_escape) = (false, false, false);
        line
    }

    fn step(&mut self, byte: u8) -> Result<Step> {
        let quoted = match self.quoting {
            Some(Quoting { quote, escape }) if byte == quote || byte == escape => {
                self.see_quote(byte, quote, escape);
                if byte != b'\\' || self.at > self.start {
                    return Ok(Step::Data(1));
                }
                false
            }
            Some(_) => {
                self.after_escape = false;
                self.in_quotes
            }
            None => false,
        };
        match byte {
            b'\r' | b'\n' if quoted => {
                // Before the first line has ended, PostgreSQL counts as if they ended in carriage returns.
                let counted = if self.ending == Some(Ending::Newline) { b'\n' } else { b'\r' };
                self.number += u64::from(byte == counted);
                Ok(Step::Data(1))
            }
            b'\r' => self.carriage_return(),
            b'\n' => self.newline(),
            b'\\' if self.quoting.is_none() || self.at == self.start => self.backslash(),
            _ => Ok(Step::Data(1)),
        }
    }

    fn see_quote(&mut self, byte: u8, quote: u8, escape: u8) {
        // An escape that is the quote itself needs no look: two quotes close and open again.
        let escapes = byte == escape && escape != quote;
        if self.in_quotes && escapes {
            self.after_escape = !self.after_escape;
        }
        if byte == quote && !self.after_escape {
            self.in_quotes = !self.in_quotes;
        }
        if !escapes {
            self.after_escape = false;
        }
    }

    fn carriage_return(&mut self) -> Result<Step> {
        let following = self.buffer.get(self.at + 1);
        match (self.ending, following) {
            (Some(Ending::Newline), _) => Err(self.stray("carriage return", "\\r")),
            (Some(Ending::Return), _) => Ok(Step::End(1)),
            (_, None) if !self.closed => Ok(Step::Unclear),
            (_, Some(b'\n')) => {
                self.ending = Some(Ending::ReturnNewline);
                Ok(Step::End(2))
            }
            (Some(Ending::ReturnNewline), _) => Err(self.stray("carriage return", "\\r")),
            (None, _) => {
                self.ending = Some(Ending::Return);
                Ok(Step::End(1))
            }
        }
    }

    fn newline(&mut self) -> Result<Step> {
        if matches!(self.ending, Some(Ending::Return | Ending::ReturnNewline)) {
            return Err(self.stray("newline", "\\n"));
        }
        self.ending = Some(Ending::Newline);
        Ok(Step::End(1))
    }

    /// A line end within a line of text is escaped; a lone `\.` ends the data.
    fn backslash(&self) -> Result<Step> {
        let csv = self.quoting.is_some();
        let rest = &self.buffer[self.at + 1..];
        let unclear = |rest: &[u8]| rest.is_empty() && !self.closed;
        let Some(after) = rest.strip_prefix(b".") else {
            if unclear(rest) {
                return Ok(Step::Unclear);
            }
            let escaped = !csv && !rest.is_empty();
            return Ok(Step::Data(1 + usize::from(escaped)));
        };
        // CSV takes for data what is no marker by its first look, as PostgreSQL does.
        let no_marker = |message: &str| if csv { Ok(Step::Data(1)) } else { Err(bad_format(message)) };
        let other_ending = "end-of-copy marker does not match previous newline style";
        match (self.ending, after) {
            (_, []) | (None | Some(Ending::ReturnNewline), [b'\r']) if !self.closed => Ok(Step::Unclear),
            (Some(Ending::ReturnNewline), [b'\r', b'\n', ..]) => Ok(Step::Marker),
            (Some(Ending::ReturnNewline), [b'\n', ..]) => no_marker(other_ending),
            (Some(Ending::ReturnNewline), _) => no_marker("end-of-copy marker corrupt"),
            (None | Some(Ending::Newline), [b'\n', ..]) | (None | Some(Ending::Return), [b'\r', ..]) => {
                Ok(Step::Marker)
            }
            (_, [b'\n' | b'\r', ..]) => Err(bad_format(other_ending)),
            _ => no_marker("end-of-copy marker corrupt"),
        }
    }

    fn stray(&self, what: &str, escape: &str) -> SqlError {
        match self.quoting {
            None => bad_format(format!("literal {what} found in data"))
                .hint(format!("Use \"{escape}\" to represent {what}.")),
            Some(_) => bad_format(format!("unquoted {what} found in data"))
                .hint(format!("Use quoted CSV field to represent {what}.")),
        }
    }
}
