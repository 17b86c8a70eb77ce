//! The server's messages, written straight into the output buffer.

use sql::Field;
use sql::SqlError;
use sql::session::{Format, Status};
use sql::types::Type;

/// Appends a message whose body `write` appends.
pub fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    measured(out, 4, write);
}

/// Appends what `write` appends behind its length, which counts `own` bytes beyond.
fn measured(out: &mut Vec<u8>, own: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = length(out.len() - start - 4 + own);
    out[start..start + 4].copy_from_slice(&length);
}

/// Nothing that is sent comes near 2 GiB: rows, statements and texts have limits.
fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

fn count(out: &mut Vec<u8>, things: usize) {
    out.extend_from_slice(&u16::try_from(things).unwrap_or(u16::MAX).to_be_bytes());
}

/// A text that ends with a zero byte: what follows one inside it would be read as something else.
fn text(out: &mut Vec<u8>, text: &str) {
    let end = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
    out.extend_from_slice(&text.as_bytes()[..end]);
    out.push(0);
}

/// AuthenticationOk
pub fn authentication_ok(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&[0; 4]));
}

/// NegotiateProtocolVersion: 3.0, and none of these options.
pub fn negotiate_version(out: &mut Vec<u8>, options: &[&str]) {
    message(out, b'v', |out| {
        out.extend_from_slice(&[0, 3, 0, 0]);
        out.extend_from_slice(&length(options.len()));
        for option in options {
            text(out, option);
        }
    });
}

/// BackendKeyData
pub fn key_data(out: &mut Vec<u8>, (process, secret): (i32, i32)) {
    message(out, b'K', |out| {
        out.extend_from_slice(&process.to_be_bytes());
        out.extend_from_slice(&secret.to_be_bytes());
    });
}

/// ParameterStatus
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        text(out, name);
        text(out, value);
    });
}

/// ReadyForQuery
pub fn ready(out: &mut Vec<u8>, status: Status) {
    let byte = match status {
        Status::Idle => b'I',
        Status::InTransaction => b'T',
        Status::Failed => b'E',
    };
    message(out, b'Z', |out| out.push(byte));
}

/// A message without a body: ParseComplete, BindComplete, CloseComplete, NoData, EmptyQueryResponse, PortalSuspended,
/// CopyDone.
pub fn bare(out: &mut Vec<u8>, kind: u8) {
    message(out, kind, |_| ());
}

/// CommandComplete
pub fn complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |out| text(out, tag));
}

/// ParameterDescription
pub fn parameter_description(out: &mut Vec<u8>, types: &[Type]) {
    message(out, b't', |out| {
        count(out, types.len());
        for data_type in types {
            out.extend_from_slice(&data_type.oid().to_be_bytes());
        }
    });
}

/// RowDescription; `formats` as in Bind.
pub fn row_description(out: &mut Vec<u8>, fields: &[Field], formats: &[Format]) {
    message(out, b'T', |out| {
        count(out, fields.len());
        for (at, field) in fields.iter().enumerate() {
            let (table, column) = field.origin.unwrap_or_default();
            text(out, &field.name);
            out.extend_from_slice(&table.to_be_bytes());
            out.extend_from_slice(&column.to_be_bytes());
            out.extend_from_slice(&field.data_type.oid().to_be_bytes());
            out.extend_from_slice(&field.data_type.length().to_be_bytes());
            out.extend_from_slice(&field.modifier.0.to_be_bytes());
            out.extend_from_slice(&format_code(format_of(formats, at)));
        }
    });
}

/// The form of a column, if Bind gave these.
pub fn format_of(formats: &[Format], column: usize) -> Format {
    match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(column).copied().unwrap_or_default(),
    }
}

fn format_code(format: Format) -> [u8; 2] {
    match format {
        Format::Text => [0, 0],
        Format::Binary => [0, 1],
    }
}

/// A value of DataRow, or NULL.
pub fn value(out: &mut Vec<u8>, write: Option<impl FnOnce(&mut Vec<u8>)>) {
    match write {
        Some(write) => measured(out, 0, write),
        None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
    }
}

/// DataRow of so many columns, each of which `values` appends by [`value`].
pub fn data_row(out: &mut Vec<u8>, columns: usize, values: impl FnOnce(&mut Vec<u8>)) {
    message(out, b'D', |out| {
        count(out, columns);
        values(out);
    });
}

/// CopyInResponse (`G`) and CopyOutResponse (`H`)
pub fn copy_response(out: &mut Vec<u8>, kind: u8, columns: usize, binary: bool) {
    message(out, kind, |out| {
        out.push(u8::from(binary));
        count(out, columns);
        for _ in 0..columns.min(usize::from(u16::MAX)) {
            out.extend_from_slice(&[0, u8::from(binary)]);
        }
    });
}

/// CopyData
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// NotificationResponse
pub fn notification(out: &mut Vec<u8>, process: i32, channel: &str, payload: &str) {
    message(out, b'A', |out| {
        out.extend_from_slice(&process.to_be_bytes());
        text(out, channel);
        text(out, payload);
    });
}

/// ErrorResponse
pub fn error(out: &mut Vec<u8>, severity: &str, error: &SqlError) {
    report(out, b'E', severity, error);
}

/// NoticeResponse
pub fn notice(out: &mut Vec<u8>, severity: &str, notice: &SqlError) {
    report(out, b'N', severity, notice);
}

fn report(out: &mut Vec<u8>, kind: u8, severity: &str, error: &SqlError) {
    let fields = error.fields();
    let position = fields.position.map(|position| position.to_string());
    message(out, kind, |out| {
        for (kind, field) in [
            (b'S', Some(severity)),
            (b'V', Some(severity)),
            (b'C', Some(fields.code)),
            (b'M', Some(&*fields.message)),
            (b'D', fields.detail.as_deref()),
            (b'H', fields.hint.as_deref()),
            (b'P', position.as_deref()),
            (b'W', fields.context.as_deref()),
            (b's', fields.schema.as_deref()),
            (b't', fields.table.as_deref()),
            (b'c', fields.column.as_deref()),
            (b'd', fields.data_type.as_deref()),
            (b'n', fields.constraint.as_deref()),
            (b'R', fields.routine),
        ] {
            if let Some(field) = field {
                out.push(kind);
                text(out, field);
            }
        }
        out.push(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn messages() {
        let failed = SqlError::new("42703", "column \"x\" does not exist").at(8).hint("Say y.");
        let cases: &[(Vec<u8>, &[u8])] = &[
            (written(authentication_ok), b"R\0\0\0\x08\0\0\0\0"),
            (written(|out| ready(out, Status::Failed)), b"Z\0\0\0\x05E"),
            (written(|out| complete(out, "SELECT 1")), b"C\0\0\0\x0dSELECT 1\0"),
            (written(|out| negotiate_version(out, &["_pq_.x"])), b"v\0\0\0\x13\0\x03\0\0\0\0\0\x01_pq_.x\0"),
            (written(|out| copy_response(out, b'G', 2, false)), b"G\0\0\0\x0b\0\0\x02\0\0\0\0"),
            (
                written(|out| error(out, "ERROR", &failed)),
                b"E\0\0\0\x40SERROR\0VERROR\0C42703\0Mcolumn \"x\" does not exist\0HSay y.\0P8\0\0",
            ),
            (
                written(|out| {
                    data_row(out, 2, |out| {
                        value(out, Some(|out: &mut Vec<u8>| out.push(b'a')));
                        value(out, None::<fn(&mut Vec<u8>)>);
                    })
                }),
                b"D\0\0\0\x0f\0\x02\0\0\0\x01a\xff\xff\xff\xff",
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(written, expected, "{}", String::from_utf8_lossy(expected));
        }
    }
}
