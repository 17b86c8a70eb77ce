//! A small language for sessions that interleave. A script is a text of lines:
//!
//! | line | meaning |
//! | --- | --- |
//! | `# ...` | what the anomaly would be |
//! | `setup: SQL` | statements that must succeed, before all sessions |
//! | `a: SQL` | session `a` runs statements, and the next line waits for its answer |
//! | `a~ SQL` | session `a` runs statements that may have to wait for another transaction: the next line follows as soon as it sleeps, or has its answer |
//! | `a?` | the answer of that |
//! | `invariant: SQL` | must show `t` in the end: the anomaly did not occur |
//!
//! Each session has a thread of its own. Whether one sleeps is asked of the engine, so the order of events is the
//! script's on every machine: nothing here depends on time.

use super::common::{Answer, Client, Subject, open};
use seriatim_sql::database::Database;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

/// An engine to play on.
pub struct Stage {
    /// As transcripts are called.
    pub name: &'static str,
    database: Arc<Database>,
    asleep: Box<dyn Fn() -> usize>,
}

impl From<Subject> for Stage {
    fn from(subject: Subject) -> Stage {
        Stage { name: subject.name, database: open(subject.store), asleep: subject.asleep }
    }
}

/// Plays a script; returns it with each answer below its line.
pub fn play(script: &str, stage: &Stage) -> String {
    let mut actors = Actors { stage, actors: BTreeMap::new() };
    let mut transcript = String::new();
    for line in script.lines() {
        writeln!(transcript, "{line}").expect("a string takes all");
        let answer = actors.line(line);
        for line in answer.lines() {
            writeln!(transcript, "    {line}").expect("a string takes all");
        }
    }
    let invariant = transcript.rsplit_once("\ninvariant: ").expect("a script says what must hold in the end").1;
    assert!(invariant.ends_with("\n    t\n"), "the anomaly occurs on {}:\n\n{transcript}", stage.name);
    transcript
}

struct Actors<'s> {
    stage: &'s Stage,
    actors: BTreeMap<String, Actor>,
}

impl Actors<'_> {
    fn line(&mut self, line: &str) -> String {
        if line.is_empty() || line.starts_with('#') {
            return String::new();
        }
        let at = line.find([':', '~', '?']).unwrap_or_else(|| panic!("{line}: what?"));
        let (who, sql) = (&line[..at], line[at + 1..].trim());
        match (who, &line[at..=at]) {
            ("setup", ":") => {
                Client::new(&self.stage.database).run(sql);
                String::new()
            }
            ("invariant", ":") => self.invariant(sql),
            (who, ":") => {
                let actor = self.actor(who);
                actor.say(sql);
                actor.answer()
            }
            (who, "~") => {
                self.actor(who).say(sql);
                self.wait_until_quiet();
                String::new()
            }
            (who, _) => self.actor(who).answer(),
        }
    }

    /// The session of this name; it comes at its first line.
    fn actor(&mut self, who: &str) -> &mut Actor {
        let database = &self.stage.database;
        self.actors.entry(who.to_owned()).or_insert_with(|| Actor::new(database.clone()))
    }

    /// Until whoever runs a statement has answered or sleeps.
    fn wait_until_quiet(&mut self) {
        loop {
            let running = self.actors.values_mut().filter_map(|actor| actor.is_busy().then_some(())).count();
            if running <= (self.stage.asleep)() {
                return;
            }
            thread::yield_now();
        }
    }

    fn invariant(&mut self, sql: &str) -> String {
        let busy = self.actors.iter_mut().find_map(|(name, actor)| actor.is_running.then_some(name));
        assert_eq!(busy, None, "a session's answer has not been asked for");
        self.actors.clear();
        Client::new(&self.stage.database).show(sql)
    }
}

/// A session and its thread, which ends with it.
struct Actor {
    lines: Sender<String>,
    answers: Receiver<String>,
    is_running: bool,
    /// An answer that nobody has asked for.
    kept: Option<String>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Actor {
    fn new(database: Arc<Database>) -> Actor {
        let (lines, heard) = channel::<String>();
        let (said, answers) = channel();
        let thread = thread::spawn(move || {
            let mut client = Client::new(&database);
            // Ends when the script does, on either side.
            while let Ok(sql) = heard.recv() {
                if said.send(answer(&mut client, &sql)).is_err() {
                    return;
                }
            }
        });
        Actor { lines, answers, is_running: false, kept: None, thread: Some(thread) }
    }

    fn say(&mut self, sql: &str) {
        assert!(!self.is_running, "{sql}: the session still runs the statement before");
        self.lines.send(sql.to_owned()).expect("the session's thread lives");
        self.is_running = true;
    }

    fn is_busy(&mut self) -> bool {
        if self.is_running && self.kept.is_none() {
            match self.answers.try_recv() {
                Ok(answer) => self.kept = Some(answer),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => panic!("the session's thread has died"),
            }
        }
        false
    }

    fn answer(&mut self) -> String {
        assert!(self.is_running, "there is no answer to wait for");
        self.is_running = false;
        self.kept.take().unwrap_or_else(|| self.answers.recv().expect("the session's thread lives"))
    }
}

impl Drop for Actor {
    /// What a session holds is given back before another one is asked.
    fn drop(&mut self) {
        let (closed, _) = channel();
        self.lines = closed;
        let ended = self.thread.take().map(thread::JoinHandle::join);
        if !thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the session's thread has died");
        }
    }
}

/// What psql would show.
fn answer(client: &mut Client, sql: &str) -> String {
    let mut answer = Answer::default();
    let ended = client.session.simple(sql, &mut answer);
    let ended = client.session.once_durable(ended);
    let mut shown = String::new();
    let mut line = |text: &str| writeln!(shown, "{text}").expect("a string takes all");
    if !answer.columns.is_empty() {
        line(&answer.columns.join("|"));
    }
    answer.rows.iter().for_each(|row| line(&row.join("|")));
    answer.notices.iter().for_each(|notice| line(notice));
    answer.tags.iter().for_each(|tag| line(tag));
    if let Err(error) = ended {
        line(&format!("ERROR {}: {}", error.code(), error.message()));
        let fields = error.fields();
        for (name, field) in [("DETAIL", &fields.detail), ("HINT", &fields.hint)] {
            if let Some(text) = field {
                line(&format!("{name}: {}", without_timestamps(text)));
            }
        }
    }
    shown
}

/// Transactions are named by their timestamps, which no two runs share.
fn without_timestamps(text: &str) -> String {
    let mark = "other transaction ";
    match text.split_once(mark) {
        None => text.to_owned(),
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            format!("{before}{mark}T{rest}")
        }
    }
}
