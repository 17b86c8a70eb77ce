//! A store that writes down what its transactions do, for `seriatim check`.

use check::{KeyForm, Record, Scalar, Status, Writer};
use model::history::Recorder;
use model::{
    Access, Begin, Columns, Committed, Delta, Durability, Error, Fault, Item, LogPosition, Result, RowBuf, RowRef,
    Scan, ScanEnd, Schema, TableId, Timestamp,
};
use sql::store::{Store, Transaction};
use std::any::Any;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Passes everything on to a store and writes each transaction that may have taken effect into a file, as
/// `docs/history-format.md` says.
pub struct Recorded {
    inner: Arc<dyn Store>,
    log: Arc<Log>,
}

struct Log {
    begun: Instant,
    next: AtomicU64,
    writer: Mutex<Writer<BufWriter<File>>>,
}

impl Recorded {
    /// Records from now on: the store must still be empty, or what it holds will look written by nobody.
    pub fn new(inner: Arc<dyn Store>, file: &Path) -> io::Result<Recorded> {
        let writer = Mutex::new(Writer::new(BufWriter::new(File::create(file)?)));
        Ok(Recorded { inner, log: Arc::new(Log { begun: Instant::now(), next: AtomicU64::new(0), writer }) })
    }
}

impl Store for Recorded {
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        let start_ns = self.log.now();
        let recorder = Some(Recorder::new(self.inner.begin(how)?));
        Ok(Box::new(Observed { recorder, log: self.log.clone(), start_ns }))
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.inner.wait_durable(position)
    }

    fn create_table(&self, schema: Schema) -> Result<TableId> {
        self.inner.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.inner.drop_table(name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.inner.tables()
    }
}

/// A transaction that is written down when it ends.
struct Observed {
    /// `None` after the end.
    recorder: Option<Recorder<Box<dyn Transaction>>>,
    log: Arc<Log>,
    start_ns: u64,
}

/// A savepoint, and how much was written down before it.
struct Place {
    inner: Box<dyn Any + Send>,
    recorded: usize,
}

impl Observed {
    fn recorder(&mut self) -> &mut Recorder<Box<dyn Transaction>> {
        self.recorder.as_mut().expect("only the end takes the recorder, and takes the transaction with it")
    }

    /// Ends the transaction with `end`, and writes down what it did and what became of it.
    fn end<T>(
        &mut self,
        end: impl FnOnce(Box<dyn Transaction>) -> T,
        became: impl FnOnce(&T) -> (Status, Option<u64>),
    ) -> Option<T> {
        let (inner, operations) = self.recorder.take()?.into_parts();
        let ended = end(inner);
        let (status, serial_point) = became(&ended);
        if status == Status::Aborted {
            // Its client may try the same again, and write the same values; what nobody may have seen of it now looks written
            // by nobody, which the judges find as well.
            return Some(ended);
        }
        let translated = operations.into_iter().filter_map(|operation| {
            KeyForm::Text(format!("t{}", operation.table().0).into()).translate(operation, fingerprint)
        });
        self.log.write(&Record {
            // Relaxed: only uniqueness matters.
            id: self.log.next.fetch_add(1, Ordering::Relaxed),
            process: 0,
            start_ns: self.start_ns,
            end_ns: self.log.now(),
            status,
            serial_point,
            operations: translated.collect(),
        });
        Some(ended)
    }
}

impl Log {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A history with holes would accuse the wrong: if it cannot be written, nothing goes on.
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

/// What a history shows of a row: its bytes, or a hash where they are many.
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

impl Drop for Observed {
    fn drop(&mut self) {
        self.end(Transaction::abort, |()| (Status::Aborted, None));
    }
}

impl Transaction for Observed {
    fn savepoint(&mut self) -> Result<Box<dyn Any + Send>> {
        let recorded = self.recorder().recorded();
        let inner = self.recorder().inner().savepoint()?;
        Ok(Box::new(Place { inner, recorded }))
    }

    fn rollback_to(&mut self, savepoint: &(dyn Any + Send)) -> Result<()> {
        let place: &Place = savepoint.downcast_ref().ok_or(model::Invalid::UnknownSavepoint)?;
        self.recorder().inner().rollback_to(&*place.inner)?;
        self.recorder().forget_after(place.recorded);
        Ok(())
    }

    fn release(&mut self, savepoint: Box<dyn Any + Send>) {
        if let Ok(place) = savepoint.downcast::<Place>() {
            self.recorder().inner().release(place.inner);
        }
    }

    fn poison(&self) -> Option<&Error> {
        self.recorder.as_ref()?.get().poison()
    }

    fn serial_point(&self) -> Option<Timestamp> {
        self.recorder.as_ref()?.get().serial_point()
    }

    fn set_durability(&mut self, durability: Durability) {
        self.recorder().inner().set_durability(durability);
    }

    fn commit(mut self: Box<Self>) -> Result<Committed> {
        let committed = self.end(Transaction::commit, |ended| match ended {
            Ok(committed) => (Status::Committed, Some(committed.serial_point.0)),
            Err(Error::Fault(Fault::OutcomeUnknown { .. })) => (Status::Unknown, None),
            Err(_) => (Status::Aborted, None),
        });
        committed.expect("a transaction ends once")
    }

    fn abort(self: Box<Self>) {}
}

impl Access for Observed {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.recorder().read(table, key, columns, row)
    }
    fn read_for_update(&mut self, table: TableId, key: &[u8], row: &mut RowBuf) -> Result<bool> {
        self.recorder().read_for_update(table, key, row)
    }
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.recorder().put(table, key, row)
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.recorder().insert(table, key, row)
    }
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.recorder().update(table, key, delta)
    }
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.recorder().delete(table, key)
    }
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.recorder().scan(scan, visit)
    }
}
