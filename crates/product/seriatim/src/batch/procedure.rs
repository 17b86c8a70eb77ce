//! Procedures: what a program registers, and a call of one as the engine sees it.

use crate::batch::admission::Admitted;
use crate::batch::arguments::Arguments;
use crate::batch::database::Shared;
use crate::batch::footprint::Footprint;
use crate::batch::inside::Inside;
use crate::batch::reconnaissance::Reconnaissance;
use crate::batch::transaction::Transaction;
use crate::{Error, Result};
use model::{Access, Decoder, Malformed, NameTaken, Program, Registry};
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A registered procedure: a handle that is cheap to clone. `A` are its arguments, `T` is its result.
pub struct Procedure<A, T, E = Error> {
    pub(crate) code: Arc<Code<A, T, E>>,
}

type Declare<A> = Box<dyn Fn(&mut Footprint<'_>, &A) + Send + Sync>;
type Body<A, T, E> = Box<dyn Fn(&mut Transaction<'_>, &A) -> Result<T, E> + Send + Sync>;

pub(crate) struct Code<A, T, E> {
    /// The database that it was registered with.
    pub database: u64,
    pub name: String,
    pub version: u32,
    pub is_read_only: bool,
    /// `None`: reconnaissance finds the footprint.
    pub declare: Option<Declare<A>>,
    pub body: Body<A, T, E>,
}

impl<A, T, E> Clone for Procedure<A, T, E> {
    fn clone(&self) -> Self {
        Procedure { code: self.code.clone() }
    }
}

impl<A, T, E> Procedure<A, T, E> {
    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.code.name
    }

    /// Returns its version.
    pub fn version(&self) -> u32 {
        self.code.version
    }
}

impl<A, T, E> fmt::Debug for Procedure<A, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Procedure({}, version {})", self.code.name, self.code.version)
    }
}

/// A call of a procedure.
pub(crate) struct Call<A, T, E> {
    pub shared: Arc<Shared>,
    pub code: Arc<Code<A, T, E>>,
    pub arguments: A,
    /// Its place among the calls under way, held until the call is dropped (L1); `None` when it is executed again.
    pub _admitted: Option<Admitted>,
    /// A mistake of the declared footprint, which ends the call in its place.
    pub wrong: RefCell<Option<Error>>,
}

/// The error of a body, or the engine's as one.
pub(crate) struct Failed<E>(pub E);

impl<E: From<Error>> From<model::Error> for Failed<E> {
    fn from(error: model::Error) -> Failed<E> {
        Failed(Error::from(error).into())
    }
}

impl<A, T, E: From<Error>> Call<A, T, E> {
    fn run_body(&self, access: &mut dyn Access) -> Result<T, E> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong.into());
        }
        let _inside = Inside::enter();
        let mut transaction = Transaction::new(access, &self.shared.tables);
        let outcome = (self.code.body)(&mut transaction, &self.arguments);
        match transaction.into_failure() {
            Some(error) => Err(error.into()),
            None => outcome,
        }
    }

    /// Finds the footprint by running the body. Its outcome does not matter: in its place it may have another.
    fn reconnoitre(&self, state: &mut dyn Access) -> model::Footprint {
        let mut found = Reconnaissance::new(state, &self.shared.tables);
        // A body that panics here panics in its place, which ends its call.
        let ran = catch_unwind(AssertUnwindSafe(|| self.run_body(&mut found).map(drop)));
        found.footprint(matches!(ran, Ok(Ok(()))))
    }
}

/// Registers a procedure for recovery, which executes logged calls of it again.
pub(crate) fn register<A, T, E>(
    code: &Arc<Code<A, T, E>>,
    shared: &Arc<Shared>,
    registry: &mut Registry,
) -> std::result::Result<(), NameTaken>
where
    A: Arguments,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (name, version, code, shared) = (code.name.clone(), code.version, code.clone(), shared.clone());
    registry.register_as(&name, version, move |bytes| {
        let mut from = Decoder::new(bytes);
        let arguments = A::decode(&mut from)?;
        from.end()?;
        Ok(Call { shared: shared.clone(), code: code.clone(), arguments, _admitted: None, wrong: RefCell::default() })
    })
}

impl<A: Arguments, T: Send + 'static, E: From<Error> + Send + 'static> Program for Call<A, T, E> {
    type Output = T;
    type Error = Failed<E>;

    fn run<S: Access + ?Sized>(&mut self, mut access: &mut S) -> Result<T, Failed<E>> {
        self.run_body(&mut access).map_err(Failed)
    }
}

impl<A: Arguments, T: Send + 'static, E: From<Error> + Send + 'static> model::Procedure for Call<A, T, E> {
    const NAME: &'static str = "procedure of a program";

    fn name(&self) -> &str {
        &self.code.name
    }

    fn version(&self) -> u32 {
        self.code.version
    }

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        self.arguments.encode(out);
    }

    /// Arguments say nothing without the procedure: see [`register`].
    fn decode_arguments(_: &[u8]) -> std::result::Result<Self, Malformed> {
        Err(Malformed)
    }

    fn guesses(&self) -> bool {
        self.code.declare.is_none()
    }

    fn footprint<S: Access + ?Sized>(&self, mut access: &mut S) -> model::Result<model::Footprint> {
        let Some(declare) = &self.code.declare else { return Ok(self.reconnoitre(&mut access)) };
        let mut footprint = Footprint::new(&mut access, &self.shared.tables);
        declare(&mut footprint, &self.arguments);
        let (footprint, wrong) = footprint.finish();
        self.wrong.replace(wrong);
        Ok(footprint)
    }
}
