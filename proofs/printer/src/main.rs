//! `seriatim-printer EXTRACT.v MODEL.json SOURCE.v...`: prints to standard output.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use seriatim_printer::{Source, print, roots};

const USAGE: &str = "\
Usage: seriatim-printer EXTRACT.v MODEL.json SOURCE.v...

  EXTRACT.v    the Coq file that extracts; its roots are printed as public functions
  MODEL.json   what it has extracted
  SOURCE.v     the model, for its comments";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [extract, json, sources @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let read = |path: &String| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let roots = roots(&read(extract)?).map_err(|refusal| format!("{extract}: {refusal}"))?;
    let source = |path: &String| Ok(Source { path: path.clone(), text: read(path)? });
    let sources = sources.iter().map(source).collect::<Result<Vec<_>, String>>()?;
    print(&read(json)?, &roots, &sources).map_err(|refusal| format!("{json}: {refusal}"))
}
