//! Sessions whose answers wait long for the log are parked: they hold no thread meanwhile, and answer when the log has gone on. One
//! test counts the threads of this process, so it is alone here.

mod common;

use common::gate::{stage, until, until_gone};
use common::{bind, execute, message, parse, query, sync};
use std::thread;

const SESSIONS: usize = 60;

/// Threads that run statements, or wait for bytes.
fn session_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the kernel's list of threads");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("seriatim-sessio")).count()
}

#[test]
#[cfg(target_os = "linux")]
fn sessions_that_wait_for_the_log_hold_no_thread() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let mut writers: Vec<_> = (0..SESSIONS).map(|_| stage.server.client()).collect();
    stage.gate.0.shut();
    for (n, writer) in writers.iter_mut().enumerate() {
        writer.send(&query(&format!("insert into t values ({n})")));
        let waiting = "select count(*) from pg_stat_activity where wait_event = 'WALSync'";
        until(&mut watcher, waiting, &format!("D[{}]", n + 1));
    }
    // Answers wait in the same way in the midst of a pipeline, which then goes on.
    let mut reader = stage.server.client();
    let step = |sql: &str| [parse("", sql, &[]), bind("", "", &[], &[]), execute("", 0)].concat();
    reader.send(&[step("select count(*) from t"), message(b'H', []), step("select 7"), sync()].concat());
    until(&mut watcher, &format!("select wait_event from pg_stat_activity where pid = {}", reader.key.0), "D[WALSync]");
    // The server looks once a second for waits that last; threads without work end some seconds later.
    while session_threads() > SESSIONS / 3 {
        thread::yield_now();
    }
    // Their ends are those of any wait for the log.
    let mut terminated = writers.pop().expect("a session");
    watcher.query(&format!("select pg_terminate_backend({})", terminated.key.0));
    assert_eq!(terminated.answer(), "E[FATAL 57P01 terminating connection due to administrator command] end");
    let left = writers.pop().expect("a session").key.0;
    until_gone(&mut watcher, left);
    stage.gate.0.open();
    for writer in &mut writers {
        assert_eq!(writer.answer(), "C[INSERT 0 1] Z[I]");
    }
    assert_eq!(reader.answer(), format!("1 2 D[{SESSIONS}] C[SELECT 1] 1 2 D[7] C[SELECT 1] Z[I]"));
}
