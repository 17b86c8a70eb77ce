//! Procedures by name: what an input log names can be run again.

use crate::{Access, Decoder, Draws, Footprint, Malformed, Procedure, Result, UnknownCall};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;

/// The procedures that an input log may name.
#[derive(Default)]
pub struct Registry(BTreeMap<String, Entry>);

struct Entry {
    procedure: TypeId,
    version: u32,
    decode: Decode,
}

type Decode = Box<dyn Fn(&[u8]) -> std::result::Result<Box<dyn AnyProcedure>, Malformed> + Send + Sync>;

/// A call of a procedure, read from a log.
pub struct LoggedCall {
    /// The procedure with its arguments.
    pub procedure: Box<dyn AnyProcedure>,
    /// Its draws, if it was begun with any.
    pub draws: Option<Draws>,
}

/// A procedure whose type is not known: it is run for its effects.
pub trait AnyProcedure: Send {
    /// Same as [`Procedure::name`].
    fn name(&self) -> &str;

    /// Same as [`Procedure::footprint`].
    ///
    /// # Errors
    /// Same as [`Procedure::footprint`].
    fn footprint(&self, access: &mut dyn Access) -> Result<Footprint>;

    /// Runs the body; returns whether it wants to commit. Where the engine's own error stopped it, the engine knows from
    /// `access`.
    fn run(&mut self, access: &mut dyn Access) -> bool;
}

impl<P: Procedure> AnyProcedure for P {
    fn name(&self) -> &str {
        Procedure::name(self)
    }

    fn footprint(&self, access: &mut dyn Access) -> Result<Footprint> {
        Procedure::footprint(self, access)
    }

    fn run(&mut self, access: &mut dyn Access) -> bool {
        crate::Program::run(self, access).is_ok()
    }
}

/// A name that another procedure has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTaken(pub String);

impl Registry {
    /// No procedures.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Registers a procedure by its name. Has no effect if it is registered already.
    ///
    /// # Errors
    /// [`NameTaken`] if another procedure has the name: logs would be ambiguous.
    pub fn register<P: Procedure>(&mut self) -> std::result::Result<(), NameTaken> {
        if self.0.get(P::NAME).is_some_and(|entry| entry.procedure == TypeId::of::<P>()) {
            return Ok(());
        }
        self.register_as(P::NAME, P::VERSION, P::decode_arguments)
    }

    /// Registers a procedure that is named when the program runs ([`Procedure::name`]): `decode` has what it needs besides its
    /// arguments.
    ///
    /// # Errors
    /// [`NameTaken`] if the name is registered already.
    pub fn register_as<P: Procedure>(
        &mut self,
        name: &str,
        version: u32,
        decode: impl Fn(&[u8]) -> std::result::Result<P, Malformed> + Send + Sync + 'static,
    ) -> std::result::Result<(), NameTaken> {
        if self.0.contains_key(name) {
            return Err(NameTaken(name.to_owned()));
        }
        let decode: Decode = Box::new(move |arguments| Ok(Box::new(decode(arguments)?)));
        self.0.insert(name.to_owned(), Entry { procedure: TypeId::of::<P>(), version, decode });
        Ok(())
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns whether a procedure of this one's name and version is registered: its calls can be read from a log. It may be of
    /// another type, such as one that observes the procedure.
    pub fn has<P: Procedure>(&self, procedure: &P) -> bool {
        self.0.get(Procedure::name(procedure)).is_some_and(|entry| entry.version == procedure.version())
    }

    /// Reads what [`encode_call`] wrote.
    ///
    /// # Errors
    /// [`UnknownCall`] says whether the log or the registry is at fault.
    pub fn decode(&self, record: &[u8]) -> std::result::Result<LoggedCall, UnknownCall> {
        let mut reader = Decoder::new(record);
        let (name, entry, draws) = self.find(&mut reader)?;
        let procedure =
            (entry.decode)(reader.rest()).map_err(|error| UnknownCall::Arguments(name.to_owned(), error))?;
        Ok(LoggedCall { procedure, draws })
    }

    /// Looks whether a call's procedure is registered, with its version: [`Registry::decode`] without the arguments.
    ///
    /// # Errors
    /// Same as [`Registry::decode`].
    pub fn check(&self, record: &[u8]) -> std::result::Result<(), UnknownCall> {
        self.find(&mut Decoder::new(record)).map(drop)
    }

    fn find(&self, reader: &mut Decoder<'_>) -> std::result::Result<(&str, &Entry, Option<Draws>), UnknownCall> {
        let (name, version, draws) = read_head(reader).map_err(UnknownCall::Record)?;
        let (name, entry) =
            self.0.get_key_value(name).ok_or_else(|| UnknownCall::Name { name: name.to_owned(), version })?;
        if entry.version != version {
            return Err(UnknownCall::Version { name: name.clone(), logged: version, registered: entry.version });
        }
        Ok((name, entry, draws))
    }
}

fn read_head<'r>(reader: &mut Decoder<'r>) -> std::result::Result<(&'r str, u32, Option<Draws>), Malformed> {
    let (name, version) = (reader.text32()?, reader.u32()?);
    let draws = match reader.u8()? {
        0 => None,
        1 => Some(Draws::decode(reader)?),
        _ => return Err(Malformed),
    };
    Ok((name, version, draws))
}

/// Appends a call to an input log's record: name, version, draws, arguments. What follows from them need not be logged.
pub fn encode_call<P: Procedure>(procedure: &P, draws: Option<Draws>, out: &mut Vec<u8>) {
    codec::put_bytes32(out, Procedure::name(procedure).as_bytes());
    codec::put_u32(out, procedure.version());
    out.push(u8::from(draws.is_some()));
    draws.inspect(|draws| draws.encode(out));
    procedure.encode_arguments(out);
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another procedure is registered as {}", self.0)
    }
}

impl std::error::Error for NameTaken {}
