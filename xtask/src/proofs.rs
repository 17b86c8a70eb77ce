//! `cargo xtask proofs`: checks that the proofs rest on no other assumptions than those listed.
//!
//! Coq has checked each proof by the time this runs. What Coq lets pass, and this does not: a proof given up (`Admitted`), an
//! axiom of the project's own, a check of the kernel turned off, a file that nobody checks, a theorem that rests on more than
//! `proofs/assumptions.txt` names, or says something else than `proofs/statements.txt`: a weakened theorem has a proof too. And
//! `coqchk`, a second program, reads all compiled proofs again and names the axioms that it finds in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Words that stand in no file. They give up a proof, assume something, or turn a check off.
const REFUSED: &[&str] = &[
    "Admitted",
    "give_up",
    "Axiom",
    "Axioms",
    "Conjecture",
    "Conjectures",
    "Parameter",
    "Parameters",
    "bypass_check",
    "Unset Guard Checking",
    "Unset Positivity Checking",
    "Unset Universe Checking",
];

/// The only file that assumes something, and what: that there are values and images, and one of each.
const ASSUMING: &str = "paxos/Prim.v";
const ASSUMED: &[&str] = &["value", "noop", "image", "blank"];

/// Keywords with which a statement begins.
const STATED: &[&str] = &["Theorem", "Lemma", "Corollary"];

/// Checks the proofs below `root`, which are built.
///
/// # Errors
/// Everything that is wrong, a line each.
pub fn run(root: &Path) -> Result<(), String> {
    let folder = root.join("proofs");
    let files = listed(&read(&folder.join("_CoqProject"))?);
    let mut findings = unlisted(&folder, &files)?;
    let mut theorems = Vec::new();
    for file in &files {
        let text = code(&read(&folder.join(file))?);
        findings.extend(refused(file, &text));
        let module = file.trim_start_matches("paxos/").trim_end_matches(".v");
        if module.starts_with("Statements") {
            let names = STATED.iter().flat_map(|keyword| names_behind(&text, keyword));
            theorems.extend(names.map(|name| (module.to_owned(), name)));
        }
    }
    if !findings.is_empty() {
        return Err(findings.join("\n"));
    }
    let assumed = assumptions(&asked(&folder, "AskedAssumptions", &theorems, "Print Assumptions ")?);
    let allowed = read(&folder.join("assumptions.txt"))?;
    let allowed: BTreeSet<String> =
        allowed.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect();
    if assumed != allowed {
        return Err(format!(
            "the theorems assume {assumed:?}, but proofs/assumptions.txt allows {allowed:?}: \
             it must name what they assume, and nothing else"
        ));
    }
    compare_statements(&folder, &theorems)?;
    let rechecked = rechecked(&folder, &files)?;
    let names = |axioms: &BTreeSet<String>| -> BTreeSet<String> { axioms.iter().map(|axiom| name_of(axiom)).collect() };
    if names(&rechecked) != names(&allowed) {
        return Err(format!("coqchk finds the axioms {rechecked:?}, but proofs/assumptions.txt allows {allowed:?}"));
    }
    println!(
        "{} files, {} theorems as in statements.txt, assumptions: {}, and coqchk says the same",
        files.len(),
        theorems.len(),
        allowed.len()
    );
    Ok(())
}

/// Checks that the theorems' statements equal the committed ones.
fn compare_statements(folder: &Path, theorems: &[(String, String)]) -> Result<(), String> {
    let found = asked(folder, "AskedTypes", theorems, "Check @")?;
    let printed = folder.join("_build/statements.txt");
    fs::write(&printed, &found).map_err(|error| format!("{}: {error}", printed.display()))?;
    if found == read(&folder.join("statements.txt"))? {
        return Ok(());
    }
    Err("the theorems say something else than proofs/statements.txt: read the difference to proofs/_build/statements.txt, \
         and copy it there if that is what is meant"
        .to_owned())
}

/// The axioms that Coq's own checker finds in the compiled files and in all that they need of Coq and stdpp, without their types.
fn rechecked(folder: &Path, files: &[String]) -> Result<BTreeSet<String>, String> {
    let modules = files.iter().map(|file| file.trim_start_matches("paxos/").trim_end_matches(".v"));
    let output = Command::new("coqchk")
        .args(["-silent", "-o", "-Q", "paxos", ""])
        .args(modules)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("coqchk: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("coqchk: {said}"));
    }
    summarized(&said)
}

/// The axioms of `coqchk`'s summary. Everything else that it lists there must be none.
fn summarized(said: &str) -> Result<BTreeSet<String>, String> {
    let mut axioms = BTreeSet::new();
    let mut section = "";
    for line in said.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("* ") {
            section = title;
        } else if section.starts_with("Axioms") {
            axioms.insert(line.to_owned());
        }
        let forbidden = section.starts_with("Constants/Inductives") || section.starts_with("Inductives whose");
        if forbidden && !line.ends_with("<none>") {
            return Err(format!("coqchk: {section} {line}"));
        }
    }
    if section.is_empty() { Err(format!("coqchk gives no summary: {said}")) } else { Ok(axioms) }
}

/// The last part of an axiom's name.
fn name_of(axiom: &str) -> String {
    let name = axiom.split_whitespace().next().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The sources that a `_CoqProject` names.
fn listed(project: &str) -> Vec<String> {
    project.lines().map(str::trim).filter(|line| line.ends_with(".v")).map(str::to_owned).collect()
}

/// Sources that no one would check.
fn unlisted(folder: &Path, files: &[String]) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder.join("paxos")).map_err(|error| format!("proofs/paxos: {error}"))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| format!("proofs/paxos: {error}"))?.file_name();
        names.push(format!("paxos/{}", name.to_string_lossy()));
    }
    names.sort();
    let is_missing = |name: &&String| name.ends_with(".v") && !files.contains(name);
    Ok(names.iter().filter(is_missing).map(|name| format!("proofs/{name} is not in proofs/_CoqProject")).collect())
}

/// A source without its comments, which nest, and without what stands in quotes.
fn code(source: &str) -> String {
    let (mut out, mut depth, mut quoted) = (String::new(), 0_usize, false);
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        let width = if !quoted && (rest.starts_with("(*") || (depth > 0 && rest.starts_with("*)"))) {
            depth = if letter == '(' { depth + 1 } else { depth - 1 };
            out.push(' ');
            2
        } else {
            quoted ^= letter == '"';
            if depth == 0 && !quoted && letter != '"' {
                out.push(letter);
            }
            letter.len_utf8()
        };
        rest = &rest[width..];
    }
    out
}

/// The words of a source, joined by single spaces, with one at each end.
fn words(code: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '\'';
    let words: Vec<&str> = code.split(|letter| !is_part(letter)).filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

/// The names that stand right behind `keyword`.
fn names_behind(code: &str, keyword: &str) -> Vec<String> {
    let words = words(code);
    let words: Vec<&str> = words.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[0] == keyword).map(|pair| pair[1].to_owned()).collect()
}

fn refused(file: &str, code: &str) -> Vec<String> {
    let words = words(code);
    let found = REFUSED.iter().filter(|word| words.contains(&format!(" {word} ")));
    if file != ASSUMING {
        return found.map(|word| format!("proofs/{file} says {word}")).collect();
    }
    let mut findings: Vec<String> =
        found.filter(|word| **word != "Parameter").map(|word| format!("proofs/{file} says {word}")).collect();
    if names_behind(code, "Parameter") != ASSUMED {
        findings.push(format!("proofs/{file} has other parameters than {ASSUMED:?}"));
    }
    findings
}

/// Returns Coq's answer to a query about each theorem.
fn asked(folder: &Path, name: &str, theorems: &[(String, String)], question: &str) -> Result<String, String> {
    let modules: BTreeSet<&str> = theorems.iter().map(|(module, _)| module.as_str()).collect();
    let mut text = format!(
        "Require Import Prim {}.\nSet Printing Width 120.\n",
        modules.into_iter().collect::<Vec<_>>().join(" ")
    );
    for (module, theorem) in theorems {
        text.push_str(&format!("{question}{module}.{theorem}.\n"));
    }
    let built = folder.join("_build");
    fs::create_dir_all(&built).map_err(|error| format!("{}: {error}", built.display()))?;
    let file = built.join(format!("{name}.v"));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let output = Command::new("coqc")
        .args(["-q", "-Q", "../paxos", ""])
        .arg(format!("{name}.v"))
        .current_dir(&built)
        .output()
        .map_err(|error| format!("coqc: {error}"))?;
    if !output.status.success() {
        return Err(format!("coqc: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The axioms in Coq's answers, each on one line.
fn assumptions(answers: &str) -> BTreeSet<String> {
    let mut found: Vec<String> = Vec::new();
    for line in answers.lines() {
        match (line.starts_with(char::is_whitespace), found.last_mut()) {
            (true, Some(last)) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => found.push(line.trim().to_owned()),
        }
    }
    let says_nothing =
        |line: &String| line == "Axioms:" || line == "Closed under the global context" || line.is_empty();
    found.into_iter().filter(|line| !says_nothing(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_quotes_are_no_code() {
        assert_eq!(words(&code("A (* Admitted (* nested *) Axiom *) b \"Admitted\" c'.")), " A b c' ");
    }

    #[test]
    fn what_gives_up_or_assumes_is_refused() {
        for text in
            ["Admitted.", "Axiom a : False.", "Unset  Guard Checking.", "Parameter x : nat.", "#[bypass_check(guard)]"]
        {
            assert_eq!(refused("paxos/Safety.v", text).len(), 1, "{text}");
        }
        assert!(refused("paxos/Sessions.v", "Definition admit := 1. Definition Parameterless := 1.").is_empty());
    }

    #[test]
    fn the_primitives_assume_just_what_they_may() {
        let prim = "Parameter value : Type. Parameter noop : value. Parameter image : Type. Parameter blank : image.";
        assert!(refused(ASSUMING, prim).is_empty());
        assert_eq!(refused(ASSUMING, &format!("{prim} Parameter more : False.")).len(), 1);
        assert_eq!(refused(ASSUMING, &format!("{prim} Axiom more : False.")).len(), 1);
    }

    #[test]
    fn theorems_are_found_by_their_keyword() {
        let text = code("Section s. Theorem one i v1 : P. Proof. exact x. Qed. (* Theorem no *) Theorem two': Q.");
        assert_eq!(names_behind(&text, "Theorem"), ["one", "two'"]);
    }

    #[test]
    fn answers_are_axioms_or_nothing() {
        let answers =
            "Axioms:\nvalue : Type\nlong\n  : a ->\n    b\nClosed under the global context\nAxioms:\nvalue : Type\n";
        let expected = ["long : a -> b", "value : Type"].map(str::to_owned);
        assert_eq!(assumptions(answers), BTreeSet::from(expected));
    }

    #[test]
    fn a_summary_of_coqchk_names_axioms_and_nothing_that_was_not_checked() {
        let none = "* Constants/Inductives relying on type-in-type: <none>";
        let said = format!(
            "CONTEXT SUMMARY\n===\n\n* Theory: Set is predicative\n  \n* Axioms:\n    Prim.value\n    Prim.noop\n  \n{none}\n"
        );
        assert_eq!(summarized(&said), Ok(BTreeSet::from(["Prim.value", "Prim.noop"].map(str::to_owned))));
        assert_eq!(name_of("Prim.value"), name_of("value : Type"));
        assert!(summarized(&said.replace("<none>", "\n    Model.step")).is_err());
        assert!(summarized("").is_err());
    }

    #[test]
    fn only_sources_are_listed() {
        assert_eq!(listed("-Q paxos \"\"\n\npaxos/Prim.v\n  paxos/Model.v\n"), ["paxos/Prim.v", "paxos/Model.v"]);
    }
}
