//! Endurance: one server for any length of time, under every load that wears a server out at once, killed now and then.
//!
//! Each round starts the server on the data of the round before, checks the books, and then runs side by side, until the
//! server is killed: pgbench on few rows, an idle reader that holds a snapshot, checkpoints without a pause, a loop of COPY and
//! DELETE, a roll-up that empties pgbench's history, and an auditor. Whatever was acknowledged must be there after the kill
//! ([`books`]); memory and disk must not grow from round to round ([`verdict`]).
//!
//! - [`arguments`] is the command line; [`server`] the process; [`load`] its clients; [`copies`] the loop of COPY; [`round`]
//!   one round; [`verdict`] the summary of all.

pub mod arguments;
pub mod books;
pub mod copies;
pub mod load;
pub mod round;
pub mod server;
pub mod verdict;

use crate::failure::Failure;
use crate::options::Format;
use arguments::SoakArguments;
use books::Ledger;
use env::time::Instant;
use round::Round;
use server::Server;
use std::io::Write;

/// Runs the rounds, prints a row for each and a verdict.
///
/// # Errors
/// A program is missing, the server does not start; or [`Failure::Verdict`], when the verdict is bad.
pub fn run(arguments: &SoakArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut server = Server::new(arguments).map_err(Failure::Run)?;
    server.start().map_err(Failure::Run)?;
    load::initialize(&server).map_err(Failure::Run)?;
    let mut ledger = Ledger::default();
    let (mut rounds, started): (Vec<Round>, _) = (Vec::new(), Instant::now());
    while rounds.is_empty() || started.elapsed() < arguments.duration {
        let round = round::run(arguments, rounds.len() + 1, &mut server, &mut ledger).map_err(Failure::Run)?;
        eprintln!("{}", round.summary());
        rounds.push(round);
    }
    let verdict = verdict::of(&rounds);
    match arguments.format {
        Format::Table => verdict::write_table(&rounds, &verdict, out),
        Format::Json => verdict::write_json(&rounds, &verdict, out),
    }
    .map_err(|error| Failure::Run(format!("cannot write the result: {error}")))?;
    if verdict.is_good() { Ok(()) } else { Err(Failure::Verdict) }
}
