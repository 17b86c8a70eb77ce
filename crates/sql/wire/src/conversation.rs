//! The message flow of a connection after start-up: messages are handled in order, each with its response.

use crate::codec::backend;
use crate::codec::frame::Frame;
use crate::codec::frontend::{Bind, Formats, Message, Target, violation};
use crate::log;
use crate::output::Output;
use bytes::{Buf, BytesMut};
use sql::error::{Result, SqlError, state};
use sql::memory::Memory;
use sql::notify::Received;
use sql::session::{ByName, Outcome, Session, Status};
use std::time::{Duration, Instant};

/// Bytes of a message in addition to a statement's text: names, types, terminators.
const BESIDES: usize = 4096;

/// Messages up to this length are not counted as memory while they are received.
const UNCOUNTED: usize = 64 << 10;

/// A session, and the protocol state of its client.
pub struct Conversation {
    session: Session,
    output: Output,
    /// Maximum bytes of a statement, or of its values.
    limit: usize,
    mode: Mode,
    /// The message that is being received, if it is one that is handled in pieces.
    partial: Option<Partial>,
    /// Memory of the message that is being received, counted in the limit of all statements.
    received: Option<Memory>,
    /// Formats requested by Bind, by portal; `""` is the unnamed one.
    formats: ByName<Formats>,
}

/// Messages that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Any message.
    Ready,
    /// A message of the extended protocol has failed: messages are ignored until Sync.
    Skipping,
    /// Data of a COPY, begun by a simple query or by a portal.
    Copying(Protocol),
}

/// The protocol by which a statement was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Simple,
    Extended,
}

/// A message that is handled in pieces.
#[derive(Debug)]
enum Partial {
    /// COPY data, with the number of bytes still to come.
    Copy { left: usize },
    /// A refused message: the number of bytes still to skip, and the reason.
    Refused { kind: u8, left: usize, error: SqlError },
}

/// Next step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for more messages.
    Read,
    /// Wait for the log without a thread: continue with [`Conversation::answer`], then [`Conversation::run`].
    Park,
    /// End the connection.
    Close,
}

impl Conversation {
    /// Sends the first messages of a new session.
    pub fn begin(session: Session, mut output: Output, limit: usize) -> Conversation {
        output.set_encoding(session.client_encoding());
        output.put(|out| {
            backend::authentication_ok(out);
            for (name, value) in session.parameters() {
                backend::parameter_status(out, name, &value);
            }
            backend::key_data(out, session.key());
            backend::ready(out, session.status());
        });
        Conversation {
            session,
            output,
            limit,
            mode: Mode::Ready,
            partial: None,
            received: None,
            formats: ByName::default(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the time limit for the next message; none outside of a transaction.
    pub fn idle_limit(&self) -> Option<Duration> {
        let waits_inside = self.session.status() != Status::Idle && !matches!(self.mode, Mode::Copying(_));
        waits_inside.then(|| self.session.idle_in_transaction()).filter(|limit| !limit.is_zero())
    }

    /// Returns whether a COPY waits for its client's data.
    pub fn is_copying(&self) -> bool {
        matches!(self.mode, Mode::Copying(_))
    }

    /// Fails the COPY that waits for its client's data, and reports the error. Blocks.
    pub fn stop_copy(&mut self, error: &SqlError) -> Next {
        if let Mode::Copying(protocol) = self.mode {
            self.fail_copy(protocol, error);
        }
        self.flush()
    }

    /// Returns whether `input` holds work for [`Conversation::run`]. Bytes of a message that is too long are discarded at once.
    pub fn has_work(&mut self, input: &mut BytesMut) -> bool {
        if let Some(Partial::Refused { left, .. }) = &mut self.partial {
            let bytes = input.len().min(*left);
            input.advance(bytes);
            *left -= bytes;
            return *left == 0;
        }
        match self.partial {
            Some(_) => !input.is_empty(),
            None if self.first_frame(input) == Frame::Incomplete => !self.admit(input) && self.has_work(input),
            None => true,
        }
    }

    /// Counts the memory of the message that is being received, if it is long. A message beyond the limit is skipped.
    fn admit(&mut self, input: &mut BytesMut) -> bool {
        let Some((kind, body)) = Frame::announced(input).filter(|(_, body)| *body > UNCOUNTED) else { return true };
        if self.received.is_some() {
            return true;
        }
        match self.session.reserve(body) {
            Ok(memory) => self.received = Some(memory),
            Err(error) => {
                input.advance(Frame::BODY);
                self.partial = Some(Partial::Refused { kind, left: body, error });
            }
        }
        self.received.is_some()
    }

    /// Handles all complete messages in `input`, and sends the answers once everything that they acknowledge is durable. Blocks; a
    /// long wait for the log ends it with [`Next::Park`].
    pub fn run(&mut self, input: &mut BytesMut) -> Next {
        let mut next = Next::Read;
        while next == Next::Read && self.has_work(input) {
            next = match self.partial.take() {
                Some(partial) => self.take_piece(partial, input),
                None => self.take_message(input),
            };
        }
        match next {
            Next::Read => self.flush(),
            Next::Park => Next::Park,
            Next::Close => {
                self.flush_blocking();
                Next::Close
            }
        }
    }

    /// Continues after [`Next::Park`]: waits without a thread until the answers may be sent, and sends what the client accepts at once.
    /// Returns the next step, and whether everything was sent; otherwise call [`Conversation::send`] first.
    pub async fn answer(&mut self) -> (Next, bool) {
        let durable = self.session.durable().await;
        let next = self.allow(durable);
        match self.output.try_send() {
            Ok(sent) => (next, sent),
            Err(_) => (Next::Close, true),
        }
    }

    /// Sends the answers that may be sent, and returns whether the client has received them. Blocks.
    pub fn send(&mut self) -> bool {
        self.output.send().is_ok()
    }

    /// Ends the conversation from the server's side. Blocks.
    pub fn end(&mut self, error: &SqlError) {
        self.output.drop_unfinished();
        self.output.error("FATAL", error);
        // A client that does not read any more has ended the conversation itself.
        self.flush_blocking();
    }

    fn first_frame(&self, input: &[u8]) -> Frame {
        Frame::first(input, self.limit.saturating_add(BESIDES))
    }

    fn take_message(&mut self, input: &mut BytesMut) -> Next {
        match self.first_frame(input) {
            Frame::Incomplete => {}
            Frame::Message { kind, body } => {
                let (message, rest) = input.split_at(Frame::BODY + body);
                let next = self.message(kind, &message[Frame::BODY..], Frame::is_sync(rest));
                input.advance(Frame::BODY + body);
                self.received = None;
                return next;
            }
            Frame::CopyBegins { body } => {
                input.advance(Frame::BODY);
                self.partial = Some(Partial::Copy { left: body });
            }
            Frame::TooLong { kind, body } => {
                input.advance(Frame::BODY);
                self.partial = Some(Partial::Refused { kind, left: body, error: self.too_long(kind, body) });
            }
            Frame::UnknownKind(kind) => return self.fatal(&violation(format!("invalid frontend message type {kind}"))),
            Frame::InvalidLength => return self.fatal(&violation("invalid message length")),
        }
        Next::Read
    }

    fn take_piece(&mut self, partial: Partial, input: &mut BytesMut) -> Next {
        match partial {
            Partial::Copy { left } => {
                let bytes = input.len().min(left);
                self.partial = (bytes < left).then_some(Partial::Copy { left: left - bytes });
                if let Mode::Copying(protocol) = self.mode {
                    self.copy_data(protocol, &input[..bytes]);
                }
                input.advance(bytes);
            }
            Partial::Refused { kind, error, .. } => self.unreadable(kind, &error),
        }
        Next::Read
    }

    fn too_long(&self, kind: u8, body: usize) -> SqlError {
        let what = if kind == b'B' { "parameters" } else { "statement" };
        let message = format!("{what} too long: {body} bytes of {} allowed", self.limit);
        SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("Split it, load rows with COPY, or raise --statement-size.")
    }

    fn message(&mut self, kind: u8, body: &[u8], sync_follows: bool) -> Next {
        match (self.mode, kind) {
            (_, b'X') => return Next::Close,
            (Mode::Skipping, b'S') | (Mode::Ready, _) => {}
            (Mode::Skipping, _) => return Next::Read,
            (Mode::Copying(protocol), _) => return self.copy_message(protocol, kind, body),
        }
        self.begin_conversion();
        let read = self.reserve_converted(body.len());
        let read = read.and_then(|memory| Ok((Message::read(kind, body, self.output.encoding())?, memory)));
        let (message, _memory) = match read {
            Ok(read) => read,
            Err(error) => {
                self.unreadable(kind, &error);
                return Next::Read;
            }
        };
        match message {
            Message::Query(sql) => self.simple(&sql),
            Message::FunctionCall => {
                let error = SqlError::unsupported("the function call protocol").hint("Use SELECT.");
                self.unreadable(kind, &error);
            }
            Message::Sync => self.sync(),
            // The remaining data of a failed COPY.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::Flush => return self.flush(),
            Message::Password => return self.fatal(&violation(format!("invalid frontend message type {kind}"))),
            Message::Terminate => return Next::Close,
            extended => {
                if let Err(error) = self.extended(&extended, sync_follows) {
                    self.fail(&error);
                }
            }
        }
        Next::Read
    }

    /// Texts are about to be converted outside of a statement.
    fn begin_conversion(&self) {
        if !self.output.encoding().is_utf8() {
            self.session.begin_message();
        }
    }

    /// Counts the memory of a long message's texts in UTF-8, if they are in another encoding.
    fn reserve_converted(&self, body: usize) -> Result<Option<Memory>> {
        let encoding = self.output.encoding();
        if encoding.is_utf8() || body <= UNCOUNTED {
            return Ok(None);
        }
        self.session.reserve(body.saturating_mul(encoding.growth())).map(Some)
    }

    fn simple(&mut self, sql: &str) {
        self.output.expect_described_rows();
        let begun = Instant::now();
        let outcome = self.session.simple(sql, &mut self.output);
        log::ended(&self.session, begun.elapsed());
        self.end_simple(outcome);
    }

    fn end_simple(&mut self, outcome: Result<Outcome>) {
        match outcome {
            Ok(Outcome::CopyIn { columns, binary }) => {
                self.begin_copy(Protocol::Simple, columns, binary);
            }
            Ok(Outcome::Done | Outcome::Suspended) => self.ready(),
            Err(error) => {
                self.fail(&error);
                self.sync();
            }
        }
    }

    fn extended(&mut self, message: &Message<'_>, sync_follows: bool) -> Result<()> {
        match message {
            Message::Parse { name, sql, types } => {
                self.session.parse(name, sql, types)?;
                self.output.put(|out| backend::bare(out, b'1'));
            }
            Message::Bind(bind) => {
                self.bind(bind)?;
                self.output.put(|out| backend::bare(out, b'2'));
            }
            Message::Describe(Target::Statement, name) => self.describe_statement(name)?,
            Message::Describe(Target::Portal, name) => self.describe_portal(name)?,
            Message::Execute { portal, max_rows } => self.execute(portal, *max_rows, sync_follows)?,
            Message::Close(target, name) => {
                match target {
                    Target::Statement => self.session.close_statement(name),
                    Target::Portal => {
                        self.session.close_portal(name);
                        self.formats.remove(&**name);
                    }
                }
                self.output.put(|out| backend::bare(out, b'3'));
            }
            _ => {}
        }
        Ok(())
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        self.session.bind(&bind.portal, &bind.statement, &bind.parameters, self.output.encoding())?;
        let formats = bind.results.len();
        if formats > 1 {
            // A statement without result rows accepts any formats.
            let columns = self.session.describe_portal(&bind.portal)?.map_or(formats, |fields| fields.len());
            if columns != formats {
                self.session.close_portal(&bind.portal);
                return Err(violation(format!(
                    "bind message has {formats} result formats but query has {columns} columns"
                )));
            }
        }
        match self.formats.get_mut(&*bind.portal) {
            Some(known) => known.clone_from(&bind.results),
            None => drop(self.formats.insert(bind.portal.as_ref().to_owned(), bind.results.clone())),
        }
        Ok(())
    }

    fn describe_statement(&mut self, name: &str) -> Result<()> {
        let description = self.session.describe_statement(name)?;
        self.output.try_put(|out| {
            backend::parameter_description(out, &description.parameters);
            match &description.fields {
                Some(fields) => backend::row_description(out, fields, &[]),
                None => backend::bare(out, b'n'),
            }
        })
    }

    fn describe_portal(&mut self, name: &str) -> Result<()> {
        let fields = self.session.describe_portal(name)?;
        let formats = self.formats.get(name).map_or(&[][..], |formats| formats);
        self.output.try_put(|out| match &fields {
            Some(fields) => backend::row_description(out, fields, formats),
            None => backend::bare(out, b'n'),
        })
    }

    fn execute(&mut self, portal: &str, max_rows: usize, sync_follows: bool) -> Result<()> {
        match self.formats.get(portal) {
            Some(formats) => self.output.expect_rows(formats),
            None => self.output.expect_rows(&Formats::new()),
        }
        let begun = Instant::now();
        let outcome = self.session.execute(portal, max_rows, sync_follows, &mut self.output);
        log::ended(&self.session, begun.elapsed());
        match outcome? {
            Outcome::Done => {}
            Outcome::Suspended => self.output.put(|out| backend::bare(out, b's')),
            Outcome::CopyIn { columns, binary } => self.begin_copy(Protocol::Extended, columns, binary),
        }
        Ok(())
    }

    fn sync(&mut self) {
        let failed = self.mode == Mode::Skipping;
        self.mode = Mode::Ready;
        if let Err(error) = self.session.sync(failed) {
            log::failed(&self.session, "ERROR", &error);
            self.output.error("ERROR", &error);
        }
        if self.session.status() == Status::Idle {
            // Portals end with their transaction.
            self.formats.retain(|portal, _| portal.is_empty());
        }
        self.ready();
    }

    fn ready(&mut self) {
        self.mode = Mode::Ready;
        self.put_notifications();
        // Sync may have ended a transaction, and with it what it had set.
        self.session.report_settings(&mut self.output);
        let status = self.session.status();
        self.output.put(|out| backend::ready(out, status));
    }

    /// Sends the notifications that a session receives while its client asks nothing. Blocks, but not for long where they wait for
    /// the log.
    pub fn notify(&mut self) -> Next {
        if self.mode == Mode::Ready {
            self.put_notifications();
        }
        self.flush()
    }

    fn put_notifications(&mut self) {
        self.begin_conversion();
        for received in self.session.notifications() {
            let Received { process, notification, .. } = received;
            let (channel, payload) = (&notification.channel, &notification.payload);
            if let Err(error) = self.output.try_put(|out| backend::notification(out, process, channel, payload)) {
                // No statement of this session is to blame.
                let lost = SqlError::new(error.code(), format!("a notification was not sent: {}", error.message()));
                self.output.put(|out| backend::notice(out, "WARNING", &lost));
            }
        }
    }

    /// An error: nothing counts until Sync, which comes from the client in the extended protocol only.
    fn fail(&mut self, error: &SqlError) {
        log::failed(&self.session, "ERROR", error);
        self.output.error("ERROR", error);
        self.mode = Mode::Skipping;
    }

    /// Refuses a message of any kind. Those of the extended protocol are followed by a Sync.
    fn unreadable(&mut self, kind: u8, error: &SqlError) {
        match (self.mode, kind) {
            (Mode::Skipping, _) => {}
            (Mode::Copying(protocol), _) => self.fail_copy(protocol, error),
            (Mode::Ready, b'P' | b'B' | b'D' | b'C' | b'E' | b'H') => self.fail(error),
            (Mode::Ready, _) => {
                self.fail(error);
                self.sync();
            }
        }
    }

    fn begin_copy(&mut self, protocol: Protocol, columns: usize, binary: bool) {
        self.output.put(|out| backend::copy_response(out, b'G', columns, binary));
        self.mode = Mode::Copying(protocol);
    }

    fn copy_message(&mut self, protocol: Protocol, kind: u8, body: &[u8]) -> Next {
        match Message::read(kind, body, self.output.encoding()) {
            Ok(Message::CopyData(data)) => self.copy_data(protocol, data),
            Ok(Message::CopyDone) => self.copy_done(protocol),
            Ok(Message::CopyFail(why)) => {
                let error = self.session.copy_fail(&why);
                self.copy_failed(protocol, &error);
            }
            // Clients may send these at any time.
            Ok(Message::Flush | Message::Sync) => {}
            Ok(_) => {
                self.fail(&violation(format!("unexpected message type 0x{kind:02X} during COPY from stdin")));
                return self.fatal(&violation("terminating connection because protocol synchronization was lost"));
            }
            Err(error) => self.fail_copy(protocol, &error),
        }
        Next::Read
    }

    fn copy_data(&mut self, protocol: Protocol, data: &[u8]) {
        if let Err(error) = self.session.copy_data(data) {
            self.copy_failed(protocol, &error);
        }
    }

    fn copy_done(&mut self, protocol: Protocol) {
        self.mode = Mode::Ready;
        let outcome = self.session.copy_done(&mut self.output);
        match (protocol, outcome) {
            (Protocol::Simple, outcome) => self.end_simple(outcome),
            (Protocol::Extended, Ok(_)) => {}
            (Protocol::Extended, Err(error)) => self.fail(&error),
        }
    }

    /// Fails the COPY for a reason outside of the session.
    fn fail_copy(&mut self, protocol: Protocol, error: &SqlError) {
        // The session's own error is for clients that cancel the COPY.
        self.session.copy_fail(error.message());
        self.copy_failed(protocol, error);
    }

    fn copy_failed(&mut self, protocol: Protocol, error: &SqlError) {
        self.fail(error);
        if protocol == Protocol::Simple {
            self.sync();
        }
    }

    fn fatal(&mut self, error: &SqlError) -> Next {
        log::failed(&self.session, "FATAL", error);
        self.output.error("FATAL", error);
        Next::Close
    }

    /// Sends the answers once everything that they acknowledge is durable, unless the wait is long.
    fn flush(&mut self) -> Next {
        if self.output.is_empty() {
            return Next::Read;
        }
        match self.session.wait_or_park() {
            Ok(false) => Next::Park,
            durable => self.flush_after(durable.map(drop)),
        }
    }

    /// Sends the answers once everything that they acknowledge is durable, however long the wait is.
    fn flush_blocking(&mut self) -> Next {
        if self.output.is_empty() {
            return Next::Read;
        }
        let durable = self.session.wait_durable();
        self.flush_after(durable)
    }

    fn flush_after(&mut self, durable: Result<()>) -> Next {
        let next = self.allow(durable);
        if self.send() { next } else { Next::Close }
    }

    /// Sends the answers, or an error in their place if the outcome of what they acknowledge is unknown.
    fn allow(&mut self, durable: Result<()>) -> Next {
        let Err(error) = durable else { return Next::Read };
        self.output.clear();
        self.fatal(&error)
    }
}
