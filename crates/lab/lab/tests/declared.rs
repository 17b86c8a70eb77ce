//! Every workload as declared procedures: arguments survive being written down, and footprints cover what the bodies do.

mod common;

use clap::ValueEnum;
use model::{Access, Error, Footprint, Guarded, Mode, Procedure, Program, Result, Schema};
use seriatim_lab::engines::{DoorName, EngineName};
use seriatim_lab::record::Form;
use seriatim_lab::workloads::bank::{self, Bank};
use seriatim_lab::workloads::parameters::Presets;
use seriatim_lab::workloads::smallbank::{self, Smallbank};
use seriatim_lab::workloads::tatp::{self, Tatp};
use seriatim_lab::workloads::tpcc::{self, Tpcc};
use seriatim_lab::workloads::vacation::{self, Vacation};
use seriatim_lab::workloads::ycsb::{self, Ycsb};
use seriatim_lab::workloads::{Call, Client, ClientSlot, Record, Stamps, Workload};

/// The same workload, each transaction written down, read again, and held to its footprint.
struct Declaring<W>(W);

struct DeclaringClient<C: Client> {
    inner: C,
    call: Option<Held<C::Call>>,
}

struct Held<P>(P);

impl<P: Procedure<Error = Error>> Program for Held<P> {
    type Output = P::Output;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<P::Output> {
        let footprint: Footprint = self.0.footprint(access)?;
        self.0.run(&mut Guarded::new(access, &footprint))
    }
}

impl<C: Client<Call: Call>> Client for DeclaringClient<C> {
    type Call = Held<C::Call>;

    fn draw(&mut self) -> Mode {
        let mode = self.inner.draw();
        let mut arguments = Vec::new();
        self.inner.call().submission().encode_arguments(&mut arguments);
        self.call = Some(Held(C::Call::decode_arguments(&arguments).expect("what was written")));
        let (_, truncated) = arguments.split_last().expect("arguments have bytes");
        assert!(C::Call::decode_arguments(truncated).is_err(), "what lacks a byte is refused");
        mode
    }

    fn call(&mut self) -> &mut Held<C::Call> {
        self.call.as_mut().expect("a transaction was drawn")
    }

    fn check(&mut self, output: <C::Call as Program>::Output) -> std::result::Result<(), String> {
        self.inner.check(output)
    }
}

impl<W: Workload<Client: Client<Call: Call>>> Workload for Declaring<W> {
    type Client = DeclaringClient<W::Client>;
    type Audit = W::Audit;

    fn schemas(&self) -> Vec<Schema> {
        self.0.schemas()
    }
    fn forms(&self) -> Vec<Form> {
        self.0.forms()
    }
    fn records(&self) -> u64 {
        self.0.records()
    }
    fn load(&self, stamps: Stamps) -> impl Iterator<Item = Record> {
        self.0.load(stamps)
    }
    fn client(&self, at: ClientSlot<'_>) -> Self::Client {
        DeclaringClient { inner: self.0.client(at), call: None }
    }
    fn long_reader(&self, at: ClientSlot<'_>) -> Self::Client {
        DeclaringClient { inner: self.0.long_reader(at), call: None }
    }
    fn audit(&self, clients: &[&Self::Client]) -> Option<W::Audit> {
        let clients: Vec<&W::Client> = clients.iter().map(|client| &client.inner).collect();
        self.0.audit(&clients)
    }
}

/// Runs the workload on every engine; whatever a body does without having declared it ends the run.
fn declares_what_it_does<W: Workload<Client: Client<Call: Call>>>(workload: W) {
    let workload = Declaring(workload);
    for &engine in EngineName::value_variants() {
        common::run_and_judge(&workload, engine, DoorName::Program, 600);
    }
}

fn ycsb(rmws: usize, reads: f64, scans: f64) -> Ycsb {
    Ycsb::new(ycsb::Parameters {
        records: 60,
        record_bytes: 32,
        storage: ycsb::StorageName::Ordered,
        keys_per_txn: 4,
        rmws,
        reads,
        theta: 0.5,
        scans,
        scan_length: 20,
        long_reads: 5.0,
        long_reader_keys: 30,
        own_at_statement: false,
    })
}

#[test]
fn ycsb_declares_what_it_does() {
    declares_what_it_does(ycsb(0, 50.0, 10.0));
    declares_what_it_does(ycsb(2, 100.0, 0.0));
}

#[test]
fn bank_declares_what_it_does() {
    declares_what_it_does(Bank::new(bank::Parameters {
        accounts: 20,
        audits: 5.0,
        partitions: 1,
        remote: 0.0,
        own_at_statement: false,
    }));
}

#[test]
fn smallbank_declares_what_it_does() {
    let storage = ycsb::StorageName::Ordered;
    declares_what_it_does(Smallbank::new(smallbank::Parameters {
        customers: 20,
        theta: 0.0,
        spin_us: 1,
        storage,
        own_at_statement: true,
    }));
}

#[test]
fn vacation_declares_what_it_does() {
    declares_what_it_does(Vacation::new(vacation::Parameters {
        relations: 12,
        queries: 4,
        queried: 100.0,
        users: 60.0,
        partitions: 3,
        remote: 20.0,
        own_at_statement: false,
    }));
}

#[test]
fn tatp_declares_what_it_does() {
    declares_what_it_does(Tatp::new(tatp::Parameters { subscribers: 40, own_at_statement: false }));
}

#[test]
fn tpcc_declares_what_it_does() {
    let presets = Presets::read(tpcc::NAME, tpcc::PRESETS).expect("sound presets");
    let changes = serde_json::json!({
        "warehouses": 2, "items": 50, "customers": 20, "stock_scans": 2, "top_customers": 2, "remote_items": 10, "deliveries": 10,
    });
    declares_what_it_does(Tpcc::new(presets.parameters("default", &changes).expect("sound parameters")));
}
