//! The policy of retries, and the loop that follows it.

use seriatim_model::retry::{self, Failure};
use seriatim_model::{Abort, AbortClass, Error, Invalid, Mode, RetryPolicy, Target, Timestamp};
use std::time::Duration;

fn abort(class: AbortClass) -> Error {
    let (rule, explanation) = ("later-reader", "for the test");
    let (table, target, transaction, other) = (None, Target::None, Timestamp(1), None);
    Abort { class, rule, explanation, table, target, transaction, other, met: None }.into()
}

#[test]
fn the_loop_runs_until_it_succeeds_and_counts() {
    let (mut runs, mut asked) = (Vec::new(), Vec::new());
    let mut always = |failed: u32, conflict: &&str| {
        asked.push((failed, (*conflict).to_owned()));
        true
    };
    let done: Result<u32, Failure<&str, ()>> = retry::run(&mut always, |failed| {
        runs.push(failed);
        if failed < 3 { Err(Failure::Conflict("met")) } else { Ok(7) }
    });
    assert_eq!(done.expect("the fourth attempt succeeds"), 7);
    assert_eq!(runs, [0, 1, 2, 3]);
    assert_eq!(asked, (1..=3).map(|failed| (failed, "met".to_owned())).collect::<Vec<_>>());
}

#[test]
fn the_loop_ends_at_a_final_failure_without_asking() {
    let mut never_asked = |_: u32, _: &()| -> bool { panic!("there was no conflict") };
    let mut runs = 0;
    let done: Result<(), Failure<(), &str>> = retry::run(&mut never_asked, |_| {
        runs += 1;
        Err(Failure::Final("broken"))
    });
    assert!(matches!(done, Err(Failure::Final("broken"))));
    assert_eq!(runs, 1);
}

#[test]
fn whoever_gives_up_leaves_the_last_conflict() {
    let mut twice = |failed: u32, _: &u32| failed < 2;
    let done: Result<(), Failure<u32, u32>> = retry::run(&mut twice, |failed| Err(Failure::Conflict(failed)));
    assert!(matches!(done, Err(Failure::Conflict(1))));
    assert_eq!(done.unwrap_err().into_error(), 1);
}

#[test]
fn errors_of_engines_are_conflicts_only_if_a_retry_can_help() {
    let classes = [
        (AbortClass::ReadWrite, true),
        (AbortClass::WriteWrite, true),
        (AbortClass::Priority, true),
        (AbortClass::WaitLimit, true),
        (AbortClass::Interrupted, false),
        (AbortClass::Age, false),
        (AbortClass::Requested, false),
    ];
    for (class, is_conflict) in classes {
        let failure: Failure<Error, Error> = abort(class).into();
        assert_eq!(matches!(failure, Failure::Conflict(_)), is_conflict, "{class}");
    }
    let failure: Failure<Error, Error> = Error::from(Invalid::ReadOnly).into();
    assert!(matches!(failure, Failure::Final(Error::Invalid(Invalid::ReadOnly))));
}

#[test]
fn a_policy_ends_by_attempts_and_by_time() {
    let policy = RetryPolicy::attempts(3);
    assert!(policy.allows(2, Duration::ZERO) && !policy.allows(3, Duration::ZERO));
    assert!(!RetryPolicy::never().allows(1, Duration::ZERO));
    let policy = RetryPolicy::elapsed(Duration::from_millis(10));
    assert!(policy.allows(1, Duration::from_millis(10)) && !policy.allows(1, Duration::from_millis(11)));
    assert!(RetryPolicy::unlimited().allows(u32::MAX - 1, Duration::from_secs(1 << 40)));
}

#[test]
fn only_writers_own_at_the_statement_after_some_attempts() {
    let policy = RetryPolicy::default().with_own_after(2);
    assert_eq!(
        [0, 1, 2, 9].map(|failed| policy.mode(Mode::ReadWrite, failed)),
        [Mode::ReadWrite, Mode::ReadWrite, Mode::OwnAtStatement, Mode::OwnAtStatement]
    );
    assert_eq!(policy.mode(Mode::ReadOnly, 9), Mode::ReadOnly);
    assert_eq!(policy.mode(Mode::Snapshot, 9), Mode::Snapshot);
}
