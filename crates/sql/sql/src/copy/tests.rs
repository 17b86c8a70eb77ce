//! Tests of the formats, with input in pieces of any size.

use super::binary;
use super::fields::{Fields, write_csv, write_text};
use super::lines::{Lines, Quoting};
use super::options::{Format, Options};
use crate::error::SqlError;
use crate::types::encoding;
use proptest::prelude::*;
use syntax::ast::CopyOption;

type Record = Vec<Option<String>>;

fn written(copy: &str) -> (Vec<CopyOption>, bool) {
    let parsed = syntax::statement(copy).expect("COPY").expect("a statement");
    let syntax::Command::Copy(copy) = parsed.command else { panic!("not COPY: {:?}", parsed.command) };
    (copy.options.clone(), !copy.to)
}

fn options(with: &str) -> Options {
    let (options, from) = written(&format!("COPY t FROM STDIN {with}"));
    Options::read(&options, from).expect(with)
}

fn read(data: &[u8], options: &Options, pieces: &[usize]) -> Result<Vec<Record>, (SqlError, u64)> {
    let quoting = Quoting { quote: options.quote, escape: options.escape };
    let mut lines = Lines::new((options.format == Format::Csv).then_some(quoting));
    let (mut fields, mut records) = (Fields::default(), vec![]);
    let mut rest = data;
    let mut sizes = pieces.iter().copied().cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(sizes.next().unwrap_or(rest.len()).clamp(1, rest.len()));
        rest = after;
        lines.push(piece);
        drain(&mut lines, &mut fields, options, &mut records).map_err(|error| (error, lines.number()))?;
    }
    lines.close();
    drain(&mut lines, &mut fields, options, &mut records).map_err(|error| (error, lines.number()))?;
    Ok(records)
}

fn drain(lines: &mut Lines, fields: &mut Fields, options: &Options, records: &mut Vec<Record>) -> Result<(), SqlError> {
    while let Some(line) = lines.next()? {
        encoding::utf8(lines.bytes_and_end(line.clone()))?;
        let line = lines.bytes(line);
        match options.format {
            Format::Csv => fields.split_csv(line, options)?,
            _ => fields.split_text(line, options),
        }
        let record = (0..fields.len()).map(|at| Ok(fields.get(at)?.map(str::to_owned)));
        records.push(record.collect::<Result<_, SqlError>>()?);
    }
    Ok(())
}

fn write(records: &[Record], options: &Options, ending: &str) -> Vec<u8> {
    let mut out = vec![];
    for record in records {
        for (at, field) in record.iter().enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            match field {
                None => out.extend_from_slice(options.null.as_bytes()),
                Some(field) if options.format == Format::Csv => {
                    write_csv(field, options, false, record.len() == 1, &mut out);
                }
                Some(field) => write_text(field, options.delimiter, &mut out),
            }
        }
        out.extend_from_slice(ending.as_bytes());
    }
    out
}

fn record(fields: &[Option<&str>]) -> Record {
    fields.iter().map(|field| field.map(str::to_owned)).collect()
}

#[test]
fn text_is_read_as_postgresql_reads_it() {
    let text = options("");
    for (data, expected) in [
        ("a\tb\n", vec![record(&[Some("a"), Some("b")])]),
        ("\\N\t\n", vec![record(&[None, Some("")])]),
        ("\\\\N\n", vec![record(&[Some("\\N")])]),
        ("a\\\nb\n", vec![record(&[Some("a\nb")])]),
        ("\\x41\\101\\q\\t\\b\\f\\n\\r\\v\n", vec![record(&[Some("AAq\t\u{8}\u{c}\n\r\u{b}")])]),
        ("\\xZZ\n", vec![record(&[Some("xZZ")])]),
        ("\\303\\244\n", vec![record(&[Some("ä")])]),
        ("a\r\nb\r\n", vec![record(&[Some("a")]), record(&[Some("b")])]),
        ("a\rb\r", vec![record(&[Some("a")]), record(&[Some("b")])]),
        ("a\nb", vec![record(&[Some("a")]), record(&[Some("b")])]),
        ("a\n\\.\nb\n", vec![record(&[Some("a")])]),
        ("a\r\n\\.\r\nb\r\n", vec![record(&[Some("a")])]),
        ("\n", vec![record(&[Some("")])]),
        ("", vec![]),
    ] {
        for pieces in [&[usize::MAX][..], &[1], &[2, 3]] {
            let found = read(data.as_bytes(), &text, pieces).expect(data);
            assert_eq!(found, expected, "{data:?} in pieces of {pieces:?}");
        }
    }
}

#[test]
fn csv_is_read_as_postgresql_reads_it() {
    for (with, data, expected) in [
        ("CSV", "a,b\n", vec![record(&[Some("a"), Some("b")])]),
        ("CSV", ",\"\"\n", vec![record(&[None, Some("")])]),
        ("CSV", "\"a\"\"b\nc\"\n", vec![record(&[Some("a\"b\nc")])]),
        ("CSV", "a\"b,c\"d\n", vec![record(&[Some("ab,cd")])]),
        ("CSV", "\\n\n\\.\nz\n", vec![record(&[Some("\\n")])]),
        ("CSV", "a\n\\.", vec![record(&[Some("a")]), record(&[Some("\\.")])]),
        ("CSV", "\\.x\n", vec![record(&[Some("\\.x")])]),
        ("CSV", "\"\\.\"\n", vec![record(&[Some("\\.")])]),
        ("(FORMAT csv, ESCAPE '\\')", "\"a\\\"b\"\n", vec![record(&[Some("a\"b")])]),
        ("(FORMAT csv, ESCAPE '\\')", "\"a\\\\\"\n", vec![record(&[Some("a\\")])]),
        ("(FORMAT csv, ESCAPE '\\')", "a\n\\.\nb\n", vec![record(&[Some("a")])]),
        ("(FORMAT csv, NULL 'x', DELIMITER ';')", "x;\"x\"\n", vec![record(&[None, Some("x")])]),
        ("(FORMAT csv, QUOTE '''')", "'a\"'\n", vec![record(&[Some("a\"")])]),
    ] {
        for pieces in [&[usize::MAX][..], &[1], &[2, 3]] {
            let found = read(data.as_bytes(), &options(with), pieces).expect(data);
            assert_eq!(found, expected, "{data:?} with {with} in pieces of {pieces:?}");
        }
    }
}

#[test]
fn malformed_data_is_named_with_its_line() {
    for (with, data, code, message, line) in [
        ("", &b"a\n\\.x\n"[..], "22P04", "end-of-copy marker corrupt", 2),
        ("", b"a\r\n\\.\n", "22P04", "end-of-copy marker does not match previous newline style", 2),
        ("", b"a\nb\rc\n", "22P04", "literal carriage return found in data", 2),
        ("", b"a\r\nb\nc\r\n", "22P04", "literal newline found in data", 2),
        ("CSV", b"a\nb\rc\n", "22P04", "unquoted carriage return found in data", 2),
        ("CSV", b"a\r\nb\n", "22P04", "unquoted newline found in data", 2),
        ("CSV", b"1\n2\n\"a\nb\n", "22P04", "unterminated CSV quoted field", 5),
        ("", b"a\n\xff\n", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff", 2),
        ("", b"\\303\n", "22021", "invalid byte sequence for encoding \"UTF8\": 0xc3", 1),
        ("", b"a\n\\.", "22P04", "end-of-copy marker corrupt", 2),
        ("", b"a\r\n\\.\rb", "22P04", "end-of-copy marker corrupt", 2),
        ("CSV", b"a\n\\.\r\nb\n", "22P04", "end-of-copy marker does not match previous newline style", 2),
        ("CSV", b"a\r\n\\.\nb\r\n", "22P04", "unquoted newline found in data", 2),
        ("", b"\xe2\x82\n", "22021", "invalid byte sequence for encoding \"UTF8\": 0xe2 0x82 0x0a", 1),
        ("", b"a\0b\n", "22021", "invalid byte sequence for encoding \"UTF8\": 0x00", 1),
    ] {
        for pieces in [&[usize::MAX][..], &[1]] {
            let (error, number) = read(data, &options(with), pieces).expect_err(message);
            assert_eq!((error.code(), error.message(), number), (code, message, line), "in pieces of {pieces:?}");
        }
    }
}

#[test]
fn options_are_refused_in_postgresqls_words() {
    for (copy, code, message) in [
        ("FROM STDIN (FORMAT csvx)", "22023", "COPY format \"csvx\" not recognized"),
        ("FROM STDIN (FORMAT csv, FORMAT text)", "42601", "conflicting or redundant options"),
        ("FROM STDIN (FORMAT binary, DELIMITER 'x')", "42601", "cannot specify DELIMITER in BINARY mode"),
        ("FROM STDIN (FORMAT binary, NULL 'x')", "42601", "cannot specify NULL in BINARY mode"),
        ("FROM STDIN (FORMAT binary, HEADER)", "0A000", "cannot specify HEADER in BINARY mode"),
        ("FROM STDIN (DELIMITER 'a')", "22023", "COPY delimiter cannot be \"a\""),
        ("FROM STDIN (QUOTE 'x')", "0A000", "COPY quote available only in CSV mode"),
        ("FROM STDIN (ESCAPE 'x')", "0A000", "COPY escape available only in CSV mode"),
        ("FROM STDIN (FORMAT csv, DELIMITER '\"')", "22023", "COPY delimiter and quote must be different"),
        ("FROM STDIN (FORCE_NULL (a))", "0A000", "COPY force null available only in CSV mode"),
        ("TO STDOUT (FORMAT csv, FORCE_NULL (a))", "0A000", "COPY force null only available using COPY FROM"),
        ("FROM STDIN (FORMAT csv, FORCE_QUOTE (a))", "0A000", "COPY force quote only available using COPY TO"),
        ("FROM STDIN (FORMAT csv, NULL 'a,b')", "0A000", "COPY delimiter must not appear in the NULL specification"),
        (
            "FROM STDIN (FORMAT csv, NULL 'a\"b')",
            "0A000",
            "CSV quote character must not appear in the NULL specification",
        ),
    ] {
        let (options, from) = written(&format!("COPY t {copy}"));
        let error = Options::read(&options, from).expect_err(copy);
        assert_eq!((error.code(), error.message()), (code, message), "{copy}");
    }
}

/// A stream of rows, each a list of fields.
fn binary_stream(rows: &[Vec<Option<Vec<u8>>>]) -> Vec<u8> {
    let mut out = binary::HEADER.to_vec();
    for row in rows {
        out.extend((row.len() as i16).to_be_bytes());
        for field in row {
            match field {
                None => out.extend((-1i32).to_be_bytes()),
                Some(bytes) => {
                    out.extend((bytes.len() as i32).to_be_bytes());
                    out.extend_from_slice(bytes);
                }
            }
        }
    }
    out.extend_from_slice(binary::TRAILER);
    out
}

fn read_binary(data: &[u8], width: usize, piece: usize) -> Result<Vec<Vec<Option<Vec<u8>>>>, SqlError> {
    let mut rows = binary::Rows::new(width);
    let mut found = vec![];
    let mut drain = |rows: &mut binary::Rows| -> Result<(), SqlError> {
        while let Some(places) = rows.next()? {
            let field = |place: Option<std::ops::Range<usize>>| place.map(|place| rows.bytes(place).to_vec());
            found.push(places.into_iter().map(field).collect());
        }
        Ok(())
    };
    for piece in data.chunks(piece) {
        rows.push(piece);
        drain(&mut rows)?;
    }
    rows.close();
    drain(&mut rows)?;
    Ok(found)
}

#[test]
fn malformed_binary_data_is_named() {
    let good = binary_stream(&[vec![Some(vec![1]), None]]);
    let with = |at: usize, byte: u8| {
        let mut data = good.clone();
        data[at] = byte;
        data
    };
    let behind = [&good[..], b"x"].concat();
    for (data, message) in [
        (with(0, b'Q'), "COPY file signature not recognized"),
        (good[..5].to_vec(), "COPY file signature not recognized"),
        (good[..13].to_vec(), "invalid COPY file header (missing flags)"),
        (good[..17].to_vec(), "invalid COPY file header (missing length)"),
        (with(12, 1), "invalid COPY file header (WITH OIDS)"),
        (with(12, 2), "unrecognized critical flags in COPY file header"),
        (with(20, 3), "row field count is 3, expected 2"),
        (with(21, 0x80), "invalid field size"),
        (good[..23].to_vec(), "unexpected EOF in COPY data"),
        (behind, "received copy data after EOF marker"),
    ] {
        for piece in [1, data.len()] {
            let error = read_binary(&data, 2, piece).expect_err(message);
            assert_eq!((error.code(), error.message()), ("22P04", message), "in pieces of {piece}");
        }
    }
}

fn field() -> impl Strategy<Value = Option<String>> {
    let special =
        prop::sample::select(vec!["", "\\N", "\\.", "\"", ",", "\t", "\n", "\r", "\r\n", "\\", "ä", "NULL", " "]);
    let text = prop::collection::vec(prop_oneof![special.prop_map(str::to_owned), "[a-z]{0,3}"], 0..4);
    prop::option::of(text.prop_map(|parts| parts.concat()))
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    (1usize..4).prop_flat_map(|width| prop::collection::vec(prop::collection::vec(field(), width), 0..8))
}

proptest! {
    #[test]
    fn what_is_written_is_read_in_any_pieces(
        records in records(),
        pieces in prop::collection::vec(1usize..9, 1..6),
        with in prop::sample::select(vec![
            "", "(DELIMITER '|', NULL '')", "CSV", "(FORMAT csv, NULL 'NULL', DELIMITER ';', QUOTE '''')",
            "(FORMAT csv, ESCAPE '\\')", "(FORMAT csv, NULL '\\N')",
        ]),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let options = options(with);
        // An empty text and NULL look alike where NULL is empty and nothing is quoted.
        let records: Vec<Record> = match (options.format, options.null.as_str()) {
            (Format::Text, "") => {
                records.into_iter().map(|r| r.into_iter().map(|f| f.filter(|f| !f.is_empty())).collect()).collect()
            }
            _ => records,
        };
        let data = write(&records, &options, ending);
        let found = read(&data, &options, &pieces).map_err(|(error, line)| format!("line {line}: {error}"));
        prop_assert_eq!(found, Ok(records), "{:?}", String::from_utf8_lossy(&data));
    }

    #[test]
    fn pieces_do_not_matter(
        data in prop::collection::vec(prop::sample::select(b"ab\"\\.,\t\n\r\xff".to_vec()), 0..30),
        pieces in prop::collection::vec(1usize..9, 1..6),
        with in prop::sample::select(vec!["", "CSV", "(FORMAT csv, ESCAPE '\\')"]),
    ) {
        let options = options(with);
        let outcome = |pieces: &[usize]| {
            read(&data, &options, pieces).map_err(|(error, line)| (error.message().to_owned(), line))
        };
        prop_assert_eq!(outcome(&pieces), outcome(&[usize::MAX]));
    }

    #[test]
    fn binary_rows_are_read_in_any_pieces(
        rows in prop::collection::vec(prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..9)), 3), 0..6),
        piece in 1usize..40,
    ) {
        prop_assert_eq!(read_binary(&binary_stream(&rows), 3, piece).map_err(|error| error.to_string()), Ok(rows));
    }
}
