//! Judges a history file, as `seriatim check FILE [serializable|strict]` does.

use seriatim_check::{Format, Model, command};
use std::io::{stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let file = PathBuf::from(words.next().unwrap_or_else(|| "-".to_owned()));
    let model = words.next().map_or(Ok(Model::default()), |word| word.parse());
    match model {
        Ok(model) => {
            let code = command(&file, model, Format::Text, &mut stdout(), &mut stderr());
            ExitCode::from(code as u8)
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
