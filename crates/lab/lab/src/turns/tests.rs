use super::*;
use crate::driver::Extent;
use crate::engines::{DoorName, EngineName};
use crate::trial::{Figures, WorkloadPlan};
use crate::workloads::bank;
use crate::workloads::parameters::{DEFAULT, Presets};
use env::time::Duration;
use serde_json::json;
use testing::Directory;

fn plan(threads: u32) -> Plan {
    let presets = Presets::read(bank::NAME, bank::PRESETS).expect("presets");
    let parameters = presets.parameters(DEFAULT, &json!({})).expect("a preset");
    Plan {
        engine: EngineName::Twin,
        settings: Settings::default(),
        workload: WorkloadPlan::Bank(parameters),
        threads,
        streams: 1,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent: Extent::Transactions(1),
        door: DoorName::Program,
        batch: 1,
        rate: None,
        durability: DurabilityName::None,
        history: None,
        seed: 1,
    }
}

/// A measurement that names its trial.
fn measurement(plan: &Plan) -> Measurement {
    let clients = Figures {
        seconds: 1.0,
        commits: u64::from(plan.threads),
        txn_per_s: plan.seed as f64,
        commits_by_kind: std::collections::BTreeMap::new(),
        aborts: std::collections::BTreeMap::new(),
        p50_us: 1.0,
        p99_us: 2.0,
        p999_us: 3.0,
        timed_every: 1,
    };
    let (kept_versions, log_bytes) = (None, None);
    Measurement { clients, long_readers: None, rss_mb: 1.0, other_cores: None, kept_versions, log_bytes, bare_ns: None }
}

/// Threads and seed of a trial.
type Name = (u32, u64);

/// Runs two plans three times each, of which some trials fail. Returns what came of it, and the trials that were begun.
fn run(kept: &mut Kept, fails: impl Fn(Name) -> bool) -> (Taken, Vec<Name>) {
    let plans = [plan(1), plan(2)];
    let mut begun = Vec::new();
    let taken = take_with(&plans, 3, &Space::Memory, kept, &mut Progress::new(6), |plan, _| {
        let name = (plan.threads, plan.seed);
        begun.push(name);
        Ok(if fails(name) { Err("it was killed".to_owned()) } else { Ok(measurement(plan)) })
    });
    (taken.expect("nothing but trials fails"), begun)
}

/// Of each plan, the seeds of its measurements.
fn seeds(taken: &Taken) -> Vec<Vec<u64>> {
    taken.measured.iter().map(|all| all.iter().map(|it| it.clients.txn_per_s as u64).collect()).collect()
}

fn failures(taken: &Taken) -> Vec<(usize, u32, &str)> {
    taken.failed.iter().map(|it| (it.plan, it.repeat, &it.reason[..])).collect()
}

#[test]
fn a_trial_that_fails_ends_itself_alone() {
    let (taken, begun) = run(&mut Kept::in_memory(), |name| name == (2, 1));
    assert_eq!(begun.len(), 6);
    assert_eq!(seeds(&taken), [vec![1, 2, 3], vec![2, 3]]);
    assert_eq!(failures(&taken), [(1, 0, "it was killed")]);
}

/// What is measured beside other programs that use so many processors, one trial after another; and how many there were.
fn disturbed_by(cores: &[f64], mut again: u32) -> (Option<f64>, u32, usize) {
    let (plan, mut left) = (plan(1), cores.iter());
    let measured = undisturbed(&mut again, || {
        let other_cores = left.next().copied();
        Ok(Ok(Measurement { other_cores, ..measurement(&plan) }))
    });
    let measured = measured.expect("no trial fails").expect("no trial fails");
    (measured.other_cores, again, cores.len() - left.len())
}

#[test]
fn what_other_programs_disturb_is_measured_again() {
    assert_eq!(disturbed_by(&[0.05, 0.0], 9), (Some(0.05), 9, 1), "that much is noise");
    assert_eq!(disturbed_by(&[0.5, 0.3, 0.1, 0.0], 9), (Some(0.1), 7, 3));
    assert_eq!(disturbed_by(&[0.5, 0.3, 0.4, 0.0], 9), (Some(0.3), 7, 3), "the least disturbed of three");
    assert_eq!(disturbed_by(&[0.5, 0.3, 0.0], 1), (Some(0.3), 0, 2));
    assert_eq!(disturbed_by(&[0.5, 0.0], 0), (Some(0.5), 0, 1));
}

/// The first measurement is worth more than a failure of the second.
#[test]
fn a_failure_of_another_try_loses_no_measurement() {
    let (plan, mut tries, mut again) = (plan(1), 0, 1);
    let measured = undisturbed(&mut again, || {
        tries += 1;
        let first = Measurement { other_cores: Some(0.5), ..measurement(&plan) };
        Ok(if tries == 1 { Ok(first) } else { Err("it was killed".to_owned()) })
    });
    assert_eq!((measured.expect("no failure").expect("the first").other_cores, tries), (Some(0.5), 2));
}

#[test]
fn what_failed_is_tried_once_more_when_the_run_goes_on() {
    let directory = Directory::made("kept-failures");
    let path = directory.join("kept.jsonl");
    let open = || Kept::in_file(&path).expect("a file of ours");
    let (taken, _) = run(&mut open(), |(threads, seed)| threads == 2 && seed < 3);
    assert_eq!(failures(&taken), [(1, 0, "it was killed"), (1, 1, "it was killed")]);
    let (taken, begun) = run(&mut open(), |name| name == (2, 2));
    assert_eq!(begun, [(2, 1), (2, 2)], "and nothing else is run");
    assert_eq!(seeds(&taken), [vec![1, 2, 3], vec![1, 3]]);
    let (taken, begun) = run(&mut open(), |_| true);
    assert_eq!(begun, [], "twice is enough");
    assert_eq!(failures(&taken), [(1, 1, "it was killed, and was given up")]);
    assert_eq!(seeds(&taken), [vec![1, 2, 3], vec![1, 3]]);
}

#[test]
fn equal_trials_are_run_once() {
    let mut kept = Kept::in_memory();
    let (first, begun) = run(&mut kept, |_| false);
    let (again, begun_again) = run(&mut kept, |_| true);
    assert_eq!((begun.len(), begun_again.len()), (6, 0));
    assert_eq!(seeds(&first), seeds(&again));
}

#[test]
fn what_another_program_measured_does_not_count() {
    let directory = Directory::made("kept-programs");
    let path = directory.join("kept.jsonl");
    let open = || Kept::in_file(&path).expect("a file of ours");
    run(&mut open(), |_| false);
    let own = crate::processes::own_fingerprint().expect("the file of this test");
    let lines = fs::read_to_string(&path).expect("a file");
    fs::write(&path, lines.replace(&own, "another")).expect("a file");
    assert_eq!(run(&mut open(), |_| false).1.len(), 6);
    // As it was written before programs were told apart.
    let old =
        lines.replace(&format!("\"program\":\"{own}\""), "\"build\":\"release build\",\"allocator\":\"mimalloc\"");
    assert_ne!(old, lines);
    fs::write(&path, old).expect("a file");
    assert_eq!(run(&mut open(), |_| false).1.len(), 6);
}
