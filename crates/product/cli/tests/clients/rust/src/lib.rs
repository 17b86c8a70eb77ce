//! Steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way.

use std::error::Error;
use std::fmt::Debug;
use std::iter::successors;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};

/// Why a step has failed.
#[derive(Debug)]
pub struct Failure {
    sql_state: String,
    message: String,
}

pub type Done = Result<(), Failure>;

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        let chain = || successors(Some(&error as &(dyn Error + 'static)), |error| (*error).source());
        let messages: Vec<String> = chain().map(ToString::to_string).collect();
        Failure {
            sql_state: chain().find_map(sql_state).unwrap_or_else(|| "-----".to_owned()),
            message: messages.join(": "),
        }
    }
}

fn sql_state(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<sqlx::Error>() {
        return error.as_database_error()?.code().map(|code| code.into_owned());
    }
    Some(error.downcast_ref::<tokio_postgres::Error>()?.code()?.code().to_owned())
}

/// Runs a step.
pub fn step(name: &str, body: impl FnOnce() -> Done) {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => println!("ok {name}"),
        Ok(Err(Failure { sql_state, message })) => {
            let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
            println!("failed {name}: {sql_state} {}", message.chars().take(300).collect::<String>());
        }
        Err(_) => println!("failed {name}: ----- panicked"),
    }
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());

/// Runs a future to its end, and meanwhile what it has spawned.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.block_on(future)
}

/// Fails unless what was found is what was wanted.
pub fn equal<T: Debug, W: Debug>(found: T, wanted: W) -> Done
where
    T: PartialEq<W>,
{
    if found == wanted { Ok(()) } else { Err(failure(format!("found {found:?}, wanted {wanted:?}"))) }
}

/// Fails unless a result is an error with this SQLSTATE.
pub fn refused<T, E: Into<Failure>>(result: Result<T, E>, code: &str) -> Done {
    match result.map_err(Into::into) {
        Ok(_) => Err(failure(format!("not refused with {code}"))),
        Err(failure) if failure.sql_state == code => Ok(()),
        Err(failure) => Err(failure),
    }
}

fn failure(message: String) -> Failure {
    Failure { sql_state: "-----".to_owned(), message }
}

/// URL of the database.
pub fn url() -> String {
    std::env::var("DATABASE_URL").expect("DATABASE_URL")
}

/// Prints the versions of crates in the lock file.
pub fn version(names: &[&str]) {
    let lock = include_str!("../Cargo.lock");
    let of = |name: &&str| {
        let (_, after) =
            lock.split_once(&format!("name = \"{name}\"\nversion = \"")).expect("a crate of the lock file");
        format!("{name} {}", after.split('"').next().unwrap_or_default())
    };
    println!("version {}", names.iter().map(of).collect::<Vec<_>>().join(", "));
}
