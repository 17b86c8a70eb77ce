//! Writes a correct random history of about so many operations to standard output, for instance to time the judges:
//!
//! ```text
//! cargo run --release -p seriatim-check --example generate -- 1000000 > /tmp/history.jsonl
//! cargo run --release -p seriatim-check --example judge -- /tmp/history.jsonl
//! ```

use seriatim_check::Writer;
use seriatim_check::generate::{Shape, generate};
use std::io::{self, BufWriter};

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map_while(|word| word.parse().ok());
    let operations: u64 = numbers.next().unwrap_or(1000);
    let seed = numbers.next().unwrap_or(1);
    let per_transaction = 7;
    let shape = Shape {
        seed,
        operations: 2 * per_transaction - 1,
        transactions: operations.div_ceil(per_transaction),
        registers: 20_000,
        // Lists are read whole, so their histories grow with the square of their length.
        lists: 0,
        abort_percent: 0,
        unknown_percent: 0,
        ..Shape::default()
    };
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, io::stdout().lock()));
    for record in generate(shape) {
        writer.write(&record)?;
    }
    writer.finish()?;
    Ok(())
}
