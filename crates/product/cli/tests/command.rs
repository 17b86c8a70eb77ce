//! The `seriatim` command from the outside: the real binary, its output and its exit codes.

mod common;

use common::{Directory, run, run_while, seriatim};
use std::io::Write;
use std::process::Stdio;

const CITIES: &str = "\
id,name,population,founded,capital,zip,note
1,Reims,182460.5,1896-01-01,false,051100,
2,\"Paris, \"\"la ville\"\"\",2145906,1789-07-14,true,075000,\"two
lines\"
3,Köln,1084831,,false,050667,NULL
";

fn data(directory: &Directory) -> String {
    directory.path().join("data").to_str().unwrap().to_owned()
}

#[test]
fn a_file_is_loaded_listed_and_dumped_as_it_was() {
    let directory = Directory::new("load");
    let file = directory.file("cities.csv", CITIES);
    let (file, data) = (file.to_str().unwrap(), data(&directory));
    let out = run(["load", "--data", &data, "cities", file, "--key", "id"]).ok();
    assert_eq!(out, "3 rows loaded into cities\n");

    let out = run(["tables", "--data", &data]).ok();
    assert_eq!(
        out,
        "cities: 3 rows by id\n    id bigint\n    name text null\n    population double precision null\n    \
         founded date null\n    capital boolean null\n    zip text null\n    note text null\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&run(["tables", "--data", &data, "--format", "json"]).ok()).unwrap();
    assert_eq!(json[0]["rows"], 3);
    assert_eq!(json[0]["columns"][5], serde_json::json!({ "name": "zip", "type": "text", "nullable": true }));

    let out = run(["dump", "--data", &data, "cities"]).ok();
    assert_eq!(out, CITIES, "CSV comes out as it went in");
    let out = run(["dump", "--data", &data, "cities", "--format", "json"]).ok();
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows[1]["name"], "Paris, \"la ville\"");
    assert_eq!(rows[0]["population"], 182460.5);
    assert_eq!(rows[2]["founded"], serde_json::Value::Null);
    assert_eq!(rows[0]["note"], serde_json::Value::Null, "an empty field is NULL");
}

#[test]
fn keys_types_nulls_and_delimiters_can_be_said() {
    let directory = Directory::new("said");
    let file = directory.file("t.csv", "a;b;c\n1;x;7\n1;y;-\n2;x;9\n");
    let (file, data) = (file.to_str().unwrap(), data(&directory));
    let options = ["--key", "a,b", "--types", "c=double precision", "--null", "-", "--delimiter", ";", "--batch", "2"];
    run(["load", "--data", &data, "t", file].iter().chain(&options)).ok();
    let out = run(["dump", "--data", &data, "t", "--null", "?"]).ok();
    assert_eq!(out, "a,b,c\n1,x,7\n1,y,?\n2,x,9\n");
    assert!(run(["tables", "--data", &data]).ok().starts_with("t: 3 rows by a, b\n"));
    // More rows of the same kind, columns in another order, and the key need not be said again.
    let more = directory.file("more.csv", "c,b,a\n1.5,z,0\n");
    run(["load", "--data", &data, "t", more.to_str().unwrap()]).ok();
    assert_eq!(run(["dump", "--data", &data, "t"]).ok().lines().nth(1), Some("0,z,1.5"));
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_line() {
    let directory = Directory::new("wrong");
    let data = data(&directory);
    let load = |name: &str, text: &str, options: &[&str]| {
        let file = directory.file(name, text);
        run(["load", "--data", &data, "t", file.to_str().unwrap()].iter().chain(options))
    };
    load("a.csv", "id,x\n1,2\n3\n", &["--key", "id"]).refused(2, "a.csv:3: 1 field where the header names 2");
    load("b.csv", "id,x\n1,2\n,4\n", &["--key", "id"])
        .refused(2, "b.csv:3: column id is NULL, and it is part of the key");
    load("c.csv", "id,x\n1,two\n", &["--key", "id", "--types", "x=bigint"])
        .refused(2, "c.csv:2: column x has \"two\", which is not of type bigint");
    load("d.csv", "id,x\n", &["--key", "nr"]).refused(2, "--key names nr, but ");
    load("e.csv", "id,id\n", &["--key", "id"]).refused(2, "e.csv:1: two columns are called id");
    load("f.csv", "", &["--key", "id"]).refused(2, "the first line must name the columns");
    load("g.csv", "id\n1\n", &["--key", "id", "--types", "id=money"]).refused(2, "money is none of");
    load("h.csv", "id\n1\n", &["--key", "id", "--delimiter", "ab"]).refused(2, "one ASCII character");
    load("i.csv", "id\n1\n", &["--key", "id", "--batch", "0"]).refused(2, "0 is not in 1..=");
    run(["load", "--data", &data, "t", "/nowhere.csv", "--key", "id"]).refused(2, "/nowhere.csv: No such file");
    run(["load", "--data", &data, "t", directory.path().to_str().unwrap(), "--key", "id"]).refused(2, "is not a file");
    load("j.csv", "id\n1\n", &[]).refused(2, "yet; to create it, name the columns of the table's key: --key COLUMNS");
    load("q.csv", "id,x\n1,\"two\"\"\n3\",4\n5,\"six\n7,8\n", &["--key", "id"])
        .refused(2, "q.csv:2: 3 fields where the header names 2");
    load("r.csv", "id,x\n1,\"a \"\"b\"\"\nc\"\n2,\"six\n7,8\n", &["--key", "id"])
        .refused(2, "the quote that opens a field on line 4 is never closed");
    assert!(!directory.path().join("data").exists(), "no directory is made for what cannot be loaded");

    let not_utf8 = directory.file("k.csv", b"id,x\n1,a\n2,\xff\n");
    run(["load", "--data", &data, "t", not_utf8.to_str().unwrap(), "--key", "id"])
        .refused(2, "k.csv:3: field 2 is not UTF-8");
}

#[test]
fn batches_are_atomic_and_duplicates_told() {
    let directory = Directory::new("duplicates");
    let data = data(&directory);
    let file = directory.file("t.csv", "id,x\n1,a\n2,b\n3,c\n4,d\n3,e\n6,f\n");
    let load = |file: &std::path::Path| {
        run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "id", "--batch", "2"])
    };
    let ran = load(&file);
    assert!(ran.err.contains("4 rows loaded into t before"), "{ran:?}");
    ran.refused(2, "t.csv:6: duplicate key (id=3) in table t");
    assert_eq!(run(["dump", "--data", &data, "t"]).ok(), "id,x\n1,a\n2,b\n3,c\n4,d\n");
    load(&file).refused(2, "t.csv:2: duplicate key (id=1) in table t; 0 rows");

    let other = directory.file("other.csv", "id,y\n9,a\n");
    load(&other).refused(2, "other.csv:1: column x is missing");
    let wide = directory.file("wide.csv", "id,x,y\n9,a,b\n");
    load(&wide).refused(2, "wide.csv:1: table t has no column y");
    let typed = directory.file("typed.csv", "id,x\nnine,a\n");
    load(&typed).refused(2, "typed.csv:2: column id has \"nine\", which is not of type bigint");
    run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "x"])
        .refused(2, "table t is there and has the key id");
    let types = ["--key", "id", "--types", "x=date"];
    let dates = directory.file("dates.csv", "id,x\n9,1996-07-04\n");
    run(["load", "--data", &data, "t", dates.to_str().unwrap()].iter().chain(&types))
        .refused(2, "its column x is text, not date");
    assert_eq!(run(["dump", "--data", &data, "t"]).ok().lines().count(), 5, "none of them left anything");
}

#[test]
fn rows_beyond_a_limit_are_refused_by_name() {
    let directory = Directory::new("limits");
    let data = data(&directory);
    let long_key = directory.file("key.csv", format!("id,x\n{},1\n", "k".repeat(9_000)));
    run(["load", "--data", &data, "t", long_key.to_str().unwrap(), "--key", "id"])
        .refused(2, "key.csv:2: limit on bytes of a key exceeded");
    let long_row = directory.file("row.csv", format!("id,x\n1,{}\n", "v".repeat(4_100_000)));
    run(["load", "--data", &data, "u", long_row.to_str().unwrap(), "--key", "id"])
        .refused(2, "row.csv:2: limit on bytes of a row exceeded");
}

#[test]
fn what_is_not_there_is_said_to_be_not_there() {
    let directory = Directory::new("nothing");
    let data = data(&directory);
    for command in ["tables", "stats", "checkpoint"] {
        run([command, "--data", &data]).refused(2, &format!("there is no database in {data}"));
    }
    run(["verify", &data]).refused(2, &format!("there is no database in {data}"));
    assert!(!directory.path().join("data").exists(), "looking creates nothing");
    std::fs::create_dir_all(&data).unwrap();
    run(["tables", "--data", &data]).refused(2, "there is no database");
    let file = directory.file("t.csv", "id\n1\n");
    run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "id"]).ok();
    run(["dump", "--data", &data, "u"]).refused(2, "table u does not exist");
    run(["load", "--data", &data, "u", file.to_str().unwrap()])
        .refused(2, "name the columns of the table's key: --key COLUMNS");
    run(["no-such-command"]).refused(2, "unrecognized subcommand");
    run(["tables"]).refused(2, "--data <DIR>");
    run(["check", "/nowhere.jsonl"]).refused(2, "/nowhere.jsonl");
}

#[test]
fn a_database_in_use_is_left_alone() {
    let directory = Directory::new("in-use");
    let data = data(&directory);
    let db = seriatim::Database::open(&data).unwrap();
    let holder = format!("process {} has this database open", std::process::id());
    for command in ["tables", "stats", "checkpoint"] {
        run([command, "--data", &data]).refused(2, &holder);
    }
    run(["verify", &data]).refused(2, "");
    drop(db);
    // A process that another test starts has this one's lock until it runs its program.
    run_while(|ran| ran.err.contains("has this database open"), || run(["verify", &data])).ok();
}

#[test]
fn a_database_is_checkpointed_backed_up_and_verified() {
    let directory = Directory::new("care");
    let (data, copy) = (data(&directory), directory.path().join("copy"));
    let copy = copy.to_str().unwrap();
    let file = directory.file("cities.csv", CITIES);
    run(["load", "--data", &data, "cities", file.to_str().unwrap(), "--key", "id"]).ok();
    assert!(run(["checkpoint", "--data", &data]).ok().starts_with("4 tables, 16 rows, ")); // The catalog's with them.
    assert_eq!(run(["backup", "--data", &data, copy]).ok(), format!("1 table, 3 rows copied to {copy}\n"));
    assert_eq!(run(["dump", "--data", copy, "cities"]).ok(), CITIES);
    let again = run(["backup", "--data", &data, copy]);
    assert!(!again.err.contains("disk"), "{again:?}");
    again.refused(2, "it is not empty");
    run(["backup", "--data", &data, &format!("{data}/inside")]).refused(2, "directory of its own database");
    let out = run(["verify", &data]).ok();
    assert!(out.contains("checkpoint: ") && out.contains("closed cleanly") && out.contains("sound: "), "{out}");
    let stats: serde_json::Value =
        serde_json::from_str(&run(["stats", "--data", &data, "--format", "json"]).ok()).unwrap();
    assert_eq!(stats["tables"], 1);
}

#[test]
fn damage_is_found_and_named() {
    let directory = Directory::new("damage");
    let data = data(&directory);
    let rows: String = (0..200).map(|id| format!("{id},some text\n")).collect();
    let file = directory.file("t.csv", format!("id,x\n{rows}"));
    run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "id", "--batch", "10"]).ok();
    let mut segments: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("wal-"));
    segments.sort();
    let mut bytes = std::fs::read(&segments[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segments[0], bytes).unwrap();
    let name = segments[0].file_name().unwrap().to_str().unwrap();
    run(["verify", &data]).refused(1, &format!("DAMAGED: {name} at offset "));
    run(["tables", "--data", &data]).refused(2, "data directory damaged");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let directory = Directory::new("pipe");
    let data = data(&directory);
    let rows: String = (0..20_000).map(|id| format!("{id},{}\n", "x".repeat(50))).collect();
    let file = directory.file("t.csv", format!("id,x\n{rows}"));
    run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "id"]).ok();
    let mut dump =
        seriatim().args(["dump", "--data", &data, "t"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(dump.stdout.take());
    let output = dump.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_command_has_help_with_examples() {
    for command in ["load", "dump", "tables", "stats", "verify", "check", "checkpoint", "backup"] {
        let out = run([command, "--help"]).ok();
        assert!(out.contains("Examples:\n  seriatim "), "{command}: {out}");
    }
    assert!(run(["--help"]).ok().contains("Exit codes"));
    assert!(run(["--version"]).ok().starts_with("seriatim "));
}

#[test]
fn histories_are_judged() {
    let directory = Directory::new("check");
    let good = concat!(
        r#"{"id":1,"p":0,"s":0.000000001,"e":0.000000002,"st":"ok","at":1,"ops":[["w","x",1]]}"#,
        "\n",
        r#"{"id":2,"p":1,"s":0.000000003,"e":0.000000004,"st":"ok","at":2,"ops":[["r","x",1]]}"#,
        "\n"
    );
    let stale = good.replace(r#"["r","x",1]"#, r#"["r","x",null]"#);
    let (good, stale) = (directory.file("good.jsonl", good), directory.file("stale.jsonl", stale));
    run(["check", good.to_str().unwrap()]).ok();
    let judged = run(["check", stale.to_str().unwrap(), "--format", "json"]);
    assert_eq!(judged.code, 1, "{judged:?}");
    let report: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    assert_eq!(report["valid"], false);
}

#[test]
fn a_directory_that_is_no_database_stays_as_it_is() {
    let directory = Directory::new("foreign");
    directory.file("letter.txt", "Dear reader");
    let path = directory.path().to_str().unwrap();
    for command in ["tables", "stats", "checkpoint"] {
        run([command, "--data", path]).refused(2, "there is no database in");
    }
    run(["dump", "--data", path, "t"]).refused(2, "there is no database in");
    assert_eq!(directory.files(""), [directory.path().join("letter.txt")]);
}

#[test]
fn rows_come_from_standard_input_and_replace_others() {
    let directory = Directory::new("stdin");
    let data = data(&directory);
    let load = |text: &str, options: &[&str]| {
        let mut command = seriatim();
        command.args(["load", "--data", &data, "t", "-"]).args(options);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        common::Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    };
    let first = load("id,zebra,ant\n1,a,b\n", &["--key", "id"]);
    assert!(first.err.starts_with("new database in "), "{first:?}");
    assert_eq!(first.ok(), "1 row loaded into t\n");
    load("id,zebra,ant\n2,c,d\n1,e,f\n", &[]).refused(2, "standard input:3: duplicate key (id=1) in table t; 0 rows");
    assert_eq!(load("id,zebra,ant\n2,c,d\n1,e,f\n", &["--replace"]).ok(), "2 rows loaded into t\n");
    assert_eq!(run(["dump", "--data", &data, "t"]).ok(), "id,zebra,ant\n1,e,f\n2,c,d\n");
    // The columns stand in their order, not in that of their names.
    let json = run(["dump", "--data", &data, "t", "--format", "json"]).ok();
    assert_eq!(json.lines().next(), Some(r#"{"id":1,"zebra":"e","ant":"f"}"#));
}

#[test]
fn tables_of_sql_are_told_from_others() {
    let directory = Directory::new("two-kinds");
    let data = data(&directory);
    let file = directory.file("t.csv", "id\n1\n");
    let sql = |text: &str| run(["sql", "--data", &data, "-c", text]);
    let made = sql("CREATE TABLE s (a int); INSERT INTO s VALUES (1)");
    assert!(made.err.starts_with("new database in "), "{made:?}");
    assert_eq!(sql("TABLE s").err, "");
    run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "id"]).ok();
    let listed = run(["tables", "--data", &data]).ok();
    assert!(listed.starts_with("t: 1 row by id\n") && !listed.contains("sql catalog"), "{listed}");
    assert!(listed.ends_with(&format!("And tables of SQL: seriatim sql --data {data} -c '\\dt'\n")), "{listed}");
    assert!(sql("\\dt").ok().contains('s'));
    run(["dump", "--data", &data, "s"]).refused(2, "-c 'COPY s TO STDOUT (FORMAT csv, HEADER)'");
    assert_eq!(sql("COPY s TO STDOUT (FORMAT csv, HEADER)").ok(), "a\n1\n");
}

/// A directory of a user who may read it, on a file system that may be read only.
#[test]
fn a_directory_that_may_not_be_written_to_can_be_looked_at() {
    let directory = Directory::new("unwritable");
    let data = data(&directory);
    let file = directory.file("t.csv", "id\n1\n");
    run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", "id"]).ok();
    let path = directory.path().join("data");
    let set = |directory_mode: u32, file_mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode;
        std::fs::read_dir(&path).unwrap().for_each(|entry| {
            std::fs::set_permissions(entry.unwrap().path(), mode(file_mode)).unwrap();
        });
        std::fs::set_permissions(&path, mode(directory_mode)).unwrap();
    };
    set(0o555, 0o444);
    // Root may write all the same, unless it gives that right away.
    let look = |arguments: &[&str]| {
        let is_root = std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let mut command = std::process::Command::new(if is_root { "setpriv" } else { env!("CARGO_BIN_EXE_seriatim") });
        if is_root {
            command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_seriatim")]);
        }
        command.args(arguments).output().unwrap()
    };
    let outputs = [
        look(&["verify", &data]),
        look(&["tables", "--data", &data]),
        look(&["stats", "--data", &data]),
        look(&["dump", "--data", &data, "t"]),
        look(&["backup", "--data", &data, directory.path().join("copy").to_str().unwrap()]),
    ];
    let refused = look(&["checkpoint", "--data", &data]);
    set(0o755, 0o644);
    for output in outputs {
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn a_load_that_loaded_nothing_leaves_no_table() {
    let directory = Directory::new("nothing");
    let data = data(&directory);
    let file = directory.file("t.csv", "id,x\n1,a\n1,b\n");
    let load = |key: &str| run(["load", "--data", &data, "t", file.to_str().unwrap(), "--key", key]);
    load("id,id").refused(2, "--key names id twice");
    assert!(!directory.path().join("data").exists());
    load("id").refused(2, "t.csv:3: duplicate key (id=1) in table t; 0 rows loaded into t before");
    assert_eq!(run(["tables", "--data", &data]).ok(), "");
    assert_eq!(load("id,x").ok(), "2 rows loaded into t\n");
    // A table that was there before stays, whatever fails.
    load("id,x").refused(2, "t.csv:2: duplicate key");
    assert_eq!(run(["dump", "--data", &data, "t"]).ok(), "id,x\n1,a\n1,b\n");
}
