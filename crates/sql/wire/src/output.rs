//! Output buffer of a connection.

use crate::codec::backend;
use crate::codec::converted::converted;
use crate::codec::frontend::Formats;
use crate::connection::at;
use crate::server::{Phase, Phases};
use model::Supervisor;
use sql::Field;
use sql::cancel::{Cancel, Wait, terminated};
use sql::error::{Result, SqlError, state};
use sql::session::{Format, Sink};
use sql::types::{Datum, Encoding, Styles, Type, binary, text};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Bytes of rows beyond which they are sent before their statement is complete.
const FULL: usize = 64 << 10;

/// A buffer larger than this, after a single large row, is not kept.
const KEPT: usize = 1 << 20;

/// The answers of a connection: encoded as they are produced, and sent on request or when there are many.
///
/// Sending waits for the client to read, so it must happen off the reactor. The connection of a client that reads
/// nothing for too long is closed, since its transaction may hold rows that others wait for.
pub struct Output {
    stream: Arc<TcpStream>,
    phases: Phases,
    /// Cancellation of the statement or the session.
    cancel: Arc<Cancel>,
    /// Maximum time that the client may accept no bytes.
    read_limit: Duration,
    buffer: Vec<u8>,
    /// Offset of the statement's responses; `None` once some of them have been sent.
    statement: Option<usize>,
    /// Offset of the message that is being written, until it is complete.
    unfinished: Option<usize>,
    rows: Rows,
    /// The client's encoding, as it was told.
    encoding: Encoding,
}

/// Encoding of the running statement's rows.
#[derive(Default)]
struct Rows {
    /// Whether a row description precedes them, as in the simple protocol.
    described: bool,
    formats: Formats,
    types: Vec<Type>,
    styles: Styles,
    /// The text of one value, before its length is known.
    text: String,
}

impl Output {
    /// Creates an empty output.
    pub fn new(stream: Arc<TcpStream>, phases: Phases, cancel: Arc<Cancel>, read_limit: Duration) -> Output {
        Output {
            stream,
            phases,
            cancel,
            read_limit,
            buffer: Vec::new(),
            statement: None,
            unfinished: None,
            rows: Rows::default(),
            encoding: Encoding::Utf8,
        }
    }

    /// The client's encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Sets the client's encoding, of everything from here on.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Appends the complete messages that `write` writes; `?` stands for a character that the client's encoding lacks.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.write_whole(write);
        if !self.encoding.is_utf8() {
            let encoding = self.encoding;
            let _ = self.convert(start, &|text, out| {
                out.extend_from_slice(&encoding.encode_lossy(text));
                Ok(())
            });
        }
    }

    /// Appends the complete messages that `write` writes, or nothing.
    ///
    /// # Errors
    /// 22P05 for a character that the client's encoding lacks.
    pub fn try_put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.write_whole(write);
        if self.encoding.is_utf8() {
            return Ok(());
        }
        let encoding = self.encoding;
        self.convert(start, &|text, out| {
            out.extend_from_slice(&encoding.encode(text)?);
            Ok(())
        })
    }

    /// Appends an error. One whose own texts the client's encoding lacks is replaced by the error that says so, which is ASCII.
    pub fn error(&mut self, severity: &str, error: &SqlError) {
        if let Err(lacking) = self.try_put(|out| backend::error(out, severity, error)) {
            self.put(|out| backend::error(out, severity, &lacking));
        }
    }

    fn write_whole(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.buffer.len();
        self.unfinished = Some(start);
        write(&mut self.buffer);
        self.unfinished = None;
        start
    }

    /// Converts the messages from `start` on. After an error they are gone.
    #[cold]
    fn convert(&mut self, start: usize, encode: &dyn Fn(&str, &mut Vec<u8>) -> Result<()>) -> Result<()> {
        let messages = converted(&self.buffer[start..], encode);
        self.buffer.truncate(start);
        self.buffer.extend(messages?);
        Ok(())
    }

    /// Prepares for the rows of a simple query: with a row description, and as text.
    pub fn expect_described_rows(&mut self) {
        self.rows.described = true;
        self.rows.formats.clear();
    }

    /// Prepares for the rows of a portal.
    pub fn expect_rows(&mut self, formats: &Formats) {
        self.rows.described = false;
        self.rows.formats.clone_from(formats);
    }

    /// Returns whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Discards everything that has not been sent.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.statement = None;
        self.unfinished = None;
    }

    /// Discards the incomplete message that a panic has left.
    pub fn drop_unfinished(&mut self) {
        if let Some(start) = self.unfinished.take() {
            self.buffer.truncate(start);
        }
    }

    /// Sends everything, as fast as the client reads it.
    ///
    /// # Errors
    /// The client has disconnected, or has read nothing for too long, or the session is to end. Unsent data is lost.
    pub fn send(&mut self) -> Result<()> {
        self.send_for(Purpose::Answers).inspect_err(|_| self.clear())
    }

    /// Sends what the client accepts at once, without waiting, and returns whether that was everything. The rest stays.
    ///
    /// # Errors
    /// The client is gone. Unsent data is lost.
    pub fn try_send(&mut self) -> Result<bool> {
        let mut sent = 0;
        match self.write(&mut sent) {
            Ok(true) => self.empty_buffer(),
            Ok(false) => {
                self.buffer.drain(..sent);
                self.statement = None;
            }
            Err(error) => {
                self.clear();
                return Err(error);
            }
        }
        Ok(self.buffer.is_empty())
    }

    /// Sends everything. After an error the unsent data stays, and later output follows it.
    fn send_for(&mut self, purpose: Purpose) -> Result<()> {
        let mut sent = 0;
        loop {
            let stopped = match self.write(&mut sent) {
                Ok(true) => break,
                Ok(false) => self.wait_until_writable(purpose),
                Err(error) => Err(error),
            };
            if let Err(error) = stopped {
                self.buffer.drain(..sent);
                self.statement = None;
                return Err(error);
            }
        }
        self.empty_buffer();
        Ok(())
    }

    /// Writes the bytes after the first `sent`, and adds to `sent`. Returns whether everything is written.
    fn write(&self, sent: &mut usize) -> Result<bool> {
        while *sent < self.buffer.len() {
            match self.stream.try_write(&self.buffer[*sent..]) {
                Ok(0) => return Err(lost(&io::ErrorKind::WriteZero.into())),
                Ok(bytes) => *sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        Ok(true)
    }

    /// After everything was sent.
    fn empty_buffer(&mut self) {
        self.clear();
        if self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
    }

    /// Waits until the client has accepted some bytes. A statement can be stopped meanwhile, and then holds nothing any more while the
    /// client reads the rest; after a statement only the end of the session ends the wait.
    fn wait_until_writable(&mut self, purpose: Purpose) -> Result<()> {
        let Output { stream, phases, cancel, read_limit, .. } = self;
        let (in_statement, read_limit) = (purpose == Purpose::Statement, *read_limit);
        let is_over = |cancel: &Cancel| cancel.is_ended() || in_statement && cancel.check().is_err();
        let deadline = cancel.wait_limit().filter(|_| in_statement).and_then(|left| Instant::now().checked_add(left));
        let given_up = Some(read_limit).filter(|read_limit| !read_limit.is_zero());
        let given_up = given_up.and_then(|read_limit| Instant::now().checked_add(read_limit));
        tokio::runtime::Handle::current().block_on(async {
            tokio::select! {
                writable = cancel.unless(Wait::ClientWrite, is_over, stream.writable()) => match writable {
                    Some(writable) => writable.map_err(|error| lost(&error)),
                    None => Err(cancel.reason()),
                },
                _ = phases.wait_for(|phase| *phase == Phase::Abandoning) => Err(terminated()),
                () = at(deadline) => Err(cancel.reason()),
                () = at(given_up) => Err(reads_nothing(read_limit)),
            }
        })
    }
}

/// Purpose of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Room for more rows of the statement that runs.
    Statement,
    /// The answers to what has been done.
    Answers,
}

fn lost(error: &io::Error) -> SqlError {
    SqlError::new(state::CONNECTION_FAILURE, format!("connection to client lost: {error}"))
}

fn reads_nothing(read_limit: Duration) -> SqlError {
    let message = format!("connection to client lost: it has read nothing for {} s", read_limit.as_secs_f64());
    SqlError::new(state::CONNECTION_FAILURE, message)
}

impl Sink for Output {
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        if self.rows.described { self.try_put(|out| backend::row_description(out, fields, &[])) } else { Ok(()) }
    }

    fn rows(&mut self, fields: &[Field], styles: &Styles) {
        self.rows.types.clear();
        self.rows.types.extend(fields.iter().map(|field| field.data_type));
        self.rows.styles.clone_from(styles);
    }

    fn resolves_names(&self, column: usize) -> bool {
        backend::format_of(&self.rows.formats, column) == Format::Text
    }

    fn row(&mut self, row: &[Datum]) -> Result<()> {
        let start = self.buffer.len();
        self.unfinished = Some(start);
        let mut encoded = Ok(());
        let (rows, encoding) = (&mut self.rows, self.encoding);
        backend::data_row(&mut self.buffer, row.len(), |out| {
            encoded = match encoding.is_utf8() {
                true => rows.encode::<true>(row, Encoding::Utf8, out),
                false => rows.encode::<false>(row, encoding, out),
            }
        });
        self.unfinished = None;
        if encoded.is_err() {
            self.buffer.truncate(start);
        }
        encoded
    }

    fn is_full(&self) -> bool {
        self.buffer.len() >= FULL
    }

    fn leave(&mut self) -> Result<()> {
        self.send_for(Purpose::Statement)
    }

    fn complete(&mut self, tag: &str) {
        self.put(|out| backend::complete(out, tag));
    }

    fn empty(&mut self) {
        self.put(|out| backend::bare(out, b'I'));
    }

    fn notice(&mut self, severity: &'static str, notice: &SqlError) {
        self.put(|out| backend::notice(out, severity, notice));
    }

    fn parameter(&mut self, name: &str, value: &str) {
        if name == "client_encoding" {
            self.encoding = Encoding::named(value).unwrap_or_default();
        }
        self.put(|out| backend::parameter_status(out, name, value));
    }

    fn restart(&mut self) -> bool {
        match self.statement {
            Some(start) => self.buffer.truncate(start),
            None => return false,
        }
        true
    }

    fn begin_statement(&mut self) {
        self.statement = Some(self.buffer.len());
    }

    fn copy_out_start(&mut self, columns: usize, binary: bool) {
        self.put(|out| backend::copy_response(out, b'H', columns, binary));
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.put(|out| backend::copy_data(out, data));
        Ok(())
    }

    fn copy_done(&mut self) {
        self.put(|out| backend::bare(out, b'c'));
    }
}

impl Rows {
    /// Appends the values of a row. Types are those of the columns; a row that has more columns than were announced shows
    /// them as text. `IS_UTF8` says what the encoding is: the usual rows are encoded without a look at it.
    fn encode<const IS_UTF8: bool>(&mut self, row: &[Datum], encoding: Encoding, out: &mut Vec<u8>) -> Result<()> {
        for (at, datum) in row.iter().enumerate() {
            let data_type = self.types.get(at).copied().unwrap_or(Type::TEXT);
            if datum.is_null() {
                backend::value(out, None::<fn(&mut Vec<u8>)>);
                continue;
            }
            match backend::format_of(&self.formats, at) {
                Format::Text => {
                    self.text.clear();
                    text::format(datum, data_type, &self.styles, &mut self.text);
                    let converted = match IS_UTF8 {
                        true => Cow::Borrowed(self.text.as_bytes()),
                        false => encoding.encode(&self.text)?,
                    };
                    backend::value(out, Some(|out: &mut Vec<u8>| out.extend_from_slice(&converted)));
                }
                Format::Binary => {
                    let mut sent = Ok(());
                    backend::value(out, Some(|out: &mut Vec<u8>| sent = binary::send(datum, data_type, encoding, out)));
                    sent?;
                }
            }
        }
        Ok(())
    }
}
