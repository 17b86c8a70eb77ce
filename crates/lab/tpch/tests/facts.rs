//! The questions over the large table have one answer on each engine, by rows and by batches; sums beside a writer have every update
//! that was committed; reads behind an open UPDATE see what was there before.

use seriatim_tpch::{BehindUpdate, BesideWriter, Client, Facts, Subject, behind_an_open_update, beside_a_writer, open};
use sql::database::Database;
use std::sync::Arc;

const ENGINES: [Subject; 2] = [Subject::Mvto, Subject::Hyper];

fn loaded(subject: Subject, facts: Facts) -> (Arc<Database>, Client) {
    let database = open(subject).expect("a database");
    let mut client = Client::new(&database).expect("a session");
    client.load(&facts).expect("the rows are loaded");
    (database, client)
}

#[test]
fn every_engine_answers_what_was_computed_without_one() {
    let facts = Facts::new(20_000);
    let questions = facts.questions();
    assert!(questions.iter().all(|question| !question.answer.is_empty()));
    assert_eq!(questions[3].answer[0].split('|').next(), Some("200"), "every kind has facts");
    for subject in ENGINES {
        let (_database, mut client) = loaded(subject, facts);
        for vectors in ["off", "on"] {
            client.run(&format!("SET enable_vectors = {vectors}")).expect("a setting");
            for question in &questions {
                let answer = client.run(&question.statement).expect("an answer");
                assert_eq!(answer, question.answer, "{}, {subject:?}, vectors {vectors}", question.name);
            }
        }
    }
}

#[test]
fn sums_beside_a_writer_have_what_was_committed() {
    let facts = Facts::new(5_000);
    for subject in ENGINES {
        let (database, mut client) = loaded(subject, facts);
        // More than can be done, so that there are updates during every scan.
        let how = BesideWriter { scans: 20, updates_per_second: 10_000_000 };
        let beside = beside_a_writer(&database, facts, how).expect("every sum is one of its moment");
        assert_eq!((beside.alone.len(), beside.beside.len()), (20, 20));
        let sum: i64 = client.run("SELECT sum(v) FROM facts").expect("a sum")[0].parse().expect("a number");
        assert!(sum - facts.sum() >= beside.updates.max(1) as i64, "no update is lost");
    }
}

#[test]
fn reads_behind_an_open_update_see_what_was_there_before() {
    let facts = Facts::new(1_000);
    let (database, mut client) = loaded(Subject::Hyper, facts);
    let how = BehindUpdate { held: 50, reads: 40 };
    let behind = behind_an_open_update(&database, facts, how).expect("right answers");
    assert_eq!((behind.one.len(), behind.all.len(), behind.failed, behind.commit_failed), (40, 4, 0, None));
    assert_eq!(client.run("SELECT sum(v) FROM facts").expect("a sum"), [(facts.sum() + 50).to_string()]);
}
