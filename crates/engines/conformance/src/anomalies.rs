//! One script for each classical anomaly. Both judges check the history of each script. An engine may also record the output of
//! each script ([`Sessions::RECORDINGS`]), so that every conflict, its rule and its victim are reviewed when they change:
//! `UPDATE_SCRIPTS=1 cargo test` records the current output.

use crate::fixture::Sessions;
use crate::judges;
use crate::script::{Played, commands, run};
use check::KeyForm;
use std::fs;
use std::path::Path;

/// Plays a script of the battery: the judges look at it, and the output is compared with the recorded one.
pub(crate) fn play<F: Sessions>(name: &str, script: &str) {
    let played = run::<F>(script);
    let is_judged = judge(name, &played);
    assert!(is_judged || REPEATING.contains(&name), "{name}: a value is written twice, so that the judges are blind");
    let Some(folder) = F::RECORDINGS else { return };
    let path = Path::new(folder).join(name).with_extension("txt");
    let recorded = fs::read_to_string(&path).unwrap_or_else(|_| script.to_owned());
    assert_eq!(commands(&recorded), commands(script), "{}: not the commands of the battery's script", path.display());
    compare::<F>(&path, &recorded);
}

/// Runs a script of the engine's own, which contains its recorded output.
///
/// # Panics
/// If the output differs from the record, or a judge finds a violation.
pub fn play_file<F: Sessions>(path: &Path) {
    let recorded = fs::read_to_string(path).expect("a script that can be read");
    judge(&path.display().to_string(), &run::<F>(&recorded));
    compare::<F>(path, &recorded);
}

/// Scripts in which the same value is written twice on purpose.
const REPEATING: [&str; 1] = ["delete_and_insert_again"];

/// Asserts that the judges find nothing. Returns whether they could look.
fn judge(name: &str, played: &Played) -> bool {
    let form = |table: model::TableId| KeyForm::Text(format!("t{}", table.0).into());
    let report = judges::judge_unless_repeated(judges::records(played.history.clone(), form));
    if let Some(report) = &report {
        judges::assert_valid(report, &format!("{name}\n{}", played.text));
    }
    report.is_some()
}

fn compare<F: Sessions>(path: &Path, recorded: &str) {
    let now = run::<F>(recorded).text;
    if std::env::var_os("UPDATE_SCRIPTS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder that can be made");
        fs::write(path, now).expect("a script that can be written");
        return;
    }
    assert!(now == recorded, "{}:\n{}", path.display(), difference(recorded, &now));
}

/// The script as it runs now; where a line differs, the recorded one stands before it.
fn difference(recorded: &str, now: &str) -> String {
    let (recorded, now): (Vec<&str>, Vec<&str>) = (recorded.lines().collect(), now.lines().collect());
    let mut lines = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < recorded.len() || new < now.len() {
        let is_output = |lines: &[&str], at: usize| lines.get(at).is_some_and(|line| line.starts_with("    "));
        match (recorded.get(old), now.get(new)) {
            (Some(a), Some(b)) if a == b => {
                lines.push(format!("  {a}"));
                (old, new) = (old + 1, new + 1);
            }
            (Some(a), _) if is_output(&recorded, old) => {
                lines.push(format!("- {a}"));
                old += 1;
            }
            (_, Some(b)) => {
                lines.push(format!("+ {b}"));
                new += 1;
            }
            (Some(a), None) => {
                lines.push(format!("- {a}"));
                old += 1;
            }
            (None, None) => unreachable!("the loop's condition"),
        }
    }
    lines.join("\n")
}

/// A part for each script of this name in the folder `scripts`.
macro_rules! scripts {
    ($($name:ident $what:literal)*) => {
        $(
            #[doc = $what]
            pub fn $name<F: Sessions>() {
                $crate::anomalies::play::<F>(stringify!($name), include_str!(concat!("../scripts/", stringify!($name), ".txt")));
            }
        )*
    };
}

pub(crate) use scripts;

scripts! {
    g0_dirty_write "G0: writes of two transactions do not interleave."
    g1a_aborted_read "G1a: writes of an aborted transaction are not read."
    g1b_intermediate_read "G1b: overwritten values of a transaction are not read."
    g1c_circular_information_flow "G1c: two transactions do not read each other's writes."
    lost_update "P4: an update does not overwrite one that it has not read."
    read_skew "A5A: two rows are read as of one moment."
    write_skew "A5B: two transactions do not each overwrite what the other has read."
    phantom "P3: no row enters, leaves or changes in a scanned range."
    predicate_skew "G2: as write skew, over conditions and ranges of an index."
    read_only_anomaly "A reader does not reveal an order that a later commit contradicts."
    long_fork "Two readers agree on the order of two writes."
    delete_and_insert_again "A row that comes back is not the row that was read."
    insert_below_a_scanned_gap "The gaps of a scanned range are protected."
    insert_of_a_key_found_absent "The absence of a key is protected."
    dropped_transaction "A dropped transaction leaves nothing behind."
    duplicates "A taken key is an error of the statement."
    unique_entries "A taken entry of a unique index is an error of the statement."
}
