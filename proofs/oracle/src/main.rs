//! `seriatim-oracle ORACLE EVENTS SEED`: runs the printed core beside the oracle and compares.

#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command as Process, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use seriatim_oracle::{Command, Machine, Traffic};

const USAGE: &str = "\
Usage: seriatim-oracle ORACLE EVENTS SEED [EVERY]

  ORACLE   the program made of oracle.ml and of what Coq extracts
  EVENTS   how many steps of the automaton to compare
  SEED     of the commands; equal seeds give equal commands
  EVERY    commands between two comparisons (default 512; 1 finds the first command that differs)";

/// What is written to the oracle at once.
const CHUNK: usize = 1 << 16;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let number = |text: &String| text.parse::<u64>().map_err(|_| format!("{text} is no number\n\n{USAGE}"));
    let (oracle, numbers) = arguments.split_first().ok_or(USAGE)?;
    let numbers = numbers.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let (events, seed, every) = match *numbers.as_slice() {
        [events, seed] => (events, seed, 512),
        [events, seed, every] if every > 0 => (events, seed, every),
        _ => return Err(USAGE.to_owned()),
    };
    let begun = Instant::now();
    let mut process = Process::new(oracle)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{oracle}: {error}"))?;
    let (Some(mut commands), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(format!("{oracle}: no pipes"));
    };
    let reader = thread::spawn(move || read(answers));
    let written = drive(events, seed, every, &mut commands);
    drop(commands);
    let answers = reader.join().map_err(|_| "the reader of the oracle's answers stopped")?;
    let status = process.wait().map_err(|error| format!("{oracle}: {error}"))?;
    let expected = written.map_err(|error| format!("{oracle}: {error}"));
    compare(&expected?, &answers?, seed, every)?;
    if !status.success() {
        return Err(format!("{oracle}: {status}"));
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(format!("{events} events of seed {seed}: equal digests ({:.0} events/s, both sides)", events as f64 / seconds))
}

/// Runs the printed core, writes the same commands to the oracle, and gives the digests that it must answer.
fn drive(events: u64, seed: u64, every: u64, oracle: &mut impl Write) -> std::io::Result<Vec<u64>> {
    let (mut machine, mut traffic) = (Machine::default(), Traffic::new(seed));
    let (mut digests, mut bytes) = (Vec::new(), Vec::with_capacity(2 * CHUNK));
    let (mut stepped, mut commands) = (0, 0_u64);
    while stepped < events {
        let command = traffic.next(&machine);
        command.encode(&mut bytes);
        if let Command::Step(id, _) = &command {
            stepped += 1;
            let id = *id;
            let outputs = machine.run(command);
            traffic.sent(&machine, id, outputs);
        } else {
            machine.run(command);
        }
        commands += 1;
        if commands % every == 0 || stepped == events {
            Command::Mark.encode(&mut bytes);
            machine.run(Command::Mark);
            digests.push(machine.digest.0);
        }
        if bytes.len() >= CHUNK {
            oracle.write_all(&bytes)?;
            bytes.clear();
        }
    }
    oracle.write_all(&bytes)?;
    Ok(digests)
}

fn read(answers: ChildStdout) -> Result<Vec<u64>, String> {
    let digest = |line: std::io::Result<String>| {
        let line = line.map_err(|error| format!("the oracle's answer: {error}"))?;
        u64::from_str_radix(&line, 16).map_err(|_| format!("the oracle's answer is no digest: {line}"))
    };
    BufReader::new(answers).lines().map(digest).collect()
}

fn compare(expected: &[u64], answers: &[u64], seed: u64, every: u64) -> Result<(), String> {
    if let Some(mark) = expected.iter().zip(answers).position(|(a, b)| a != b) {
        let (from, to) = (mark as u64 * every + 1, (mark as u64 + 1) * every);
        return Err(format!("seed {seed}: the printed core and the oracle differ after commands {from} to {to}"));
    }
    if expected.len() != answers.len() {
        return Err(format!("seed {seed}: {} digests were due, {} came", expected.len(), answers.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_digests_pass() {
        assert_eq!(compare(&[1, 2, 3], &[1, 2, 3], 7, 512), Ok(()));
    }

    #[test]
    fn the_first_difference_is_named() {
        let message = compare(&[1, 2, 3], &[1, 9, 9], 7, 512).unwrap_err();
        assert!(message.contains("seed 7") && message.contains("commands 513 to 1024"), "{message}");
    }

    #[test]
    fn digests_that_are_missing_or_too_many_are_noticed() {
        assert!(compare(&[1, 2], &[1], 7, 512).unwrap_err().contains("2 digests were due, 1 came"));
        assert!(compare(&[1], &[1, 2], 7, 512).is_err());
    }

    #[test]
    fn an_answer_is_due_at_each_mark_and_at_the_end() {
        let mut written = Vec::new();
        let digests = drive(1_000, 3, 64, &mut written).unwrap();
        assert!(digests.len() as u64 > 1_000 / 64 && !written.is_empty());
        assert_eq!(drive(1_000, 3, 64, &mut Vec::new()).unwrap(), digests);
    }
}
