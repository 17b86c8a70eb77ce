//! Records the history of transactions in a file, for `seriatim check`.

use check::{KeyForm, Record, Scalar, Writer};
use model::RowRef;
use model::history::{Outcome, Transaction};
use sql::store::{Recorded, Store};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The store, with each transaction that may have taken effect written into a file, as `docs/history-format.md` says. The
/// store must still be empty.
pub fn recorded(store: Arc<dyn Store>, file: &Path) -> io::Result<Recorded> {
    let writer = Mutex::new(Writer::new(BufWriter::new(File::create(file)?)));
    let log = Log { next: AtomicU64::new(0), writer };
    Ok(Recorded::new(store, move |transaction| log.note(transaction)))
}

struct Log {
    next: AtomicU64,
    writer: Mutex<Writer<BufWriter<File>>>,
}

impl Log {
    fn note(&self, transaction: Transaction) {
        if transaction.outcome == Outcome::Aborted {
            // Its client may repeat it, and write the same values; values that nobody may have seen of it now look written
            // by nobody, which the judges find as well.
            return;
        }
        // Relaxed: only uniqueness matters.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.write(&Record::observed(
            id,
            transaction,
            |table| KeyForm::Text(format!("t{}", table.0).into()),
            fingerprint,
        ));
    }

    /// A history with holes would show violations that did not happen: if it cannot be written, transactions fail.
    fn write(&self, record: &Record) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write(record).expect("the history must be written to the end; is the disk full?");
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writer.flush() {
            eprintln!("seriatim: the end of the history is lost: {error}");
        }
    }
}

/// Row as it appears in a history: its bytes, or a hash if there are many.
fn fingerprint(row: RowRef<'_>) -> Scalar {
    const SHOWN: usize = 24;
    let bytes = row.bytes();
    if bytes.len() <= SHOWN {
        return bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{:016x}.{}", hasher.finish(), bytes.len()).into()
}
