//! Journal of acknowledged orders, outside of the database.
//!
//! Each thread appends the number of an order after its commit was acknowledged: one line, one `write`. A killed process
//! leaves its writes in the operating system's cache, so that the next run can look up every order for which a customer
//! would have had a confirmation. (A power cut would lose the journal's end; the log's own tests cover that.)

use crate::failure::{Failure, Outcome};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The journal of one thread.
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens the thread's journal to append to, and cuts off a line that was written by half.
    pub fn open(directory: &Path, thread: usize) -> Outcome<Journal> {
        let path = directory.join(format!("acknowledged-{thread}.log"));
        let open = OpenOptions::new().create(true).read(true).append(true).open(&path);
        let file = open.map_err(Failure::file(&path))?;
        let text = std::fs::read(&path).map_err(Failure::file(&path))?;
        file.set_len(whole_lines(&text).len() as u64).map_err(Failure::file(&path))?;
        Ok(Journal { file, path })
    }

    /// Notes an acknowledged order.
    pub fn acknowledge(&mut self, order_id: i64) -> Outcome {
        let line = format!("{order_id}\n");
        self.file.write_all(line.as_bytes()).map_err(Failure::file(&self.path))
    }
}

/// All orders that the journals in a directory say were acknowledged.
pub fn acknowledged(directory: &Path) -> Outcome<Vec<i64>> {
    let mut orders = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Failure::file(directory))? {
        let path = entry.map_err(Failure::file(directory))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("acknowledged-") && name.ends_with(".log")) {
            continue;
        }
        let text = std::fs::read(&path).map_err(Failure::file(&path))?;
        for (number, line) in whole_lines(&text).split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let order = std::str::from_utf8(line).ok().and_then(|line| line.parse().ok());
            orders.push(order.ok_or_else(|| {
                Failure::Trouble(format!("{}:{}: not the number of an order", path.display(), number + 1))
            })?);
        }
    }
    Ok(orders)
}

/// A kill may cut the last line: it was never a confirmation.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_by_half_is_no_acknowledgement() {
        assert_eq!(whole_lines(b"12\n34\n5"), b"12\n34\n");
        assert_eq!(whole_lines(b"5"), b"");
        assert_eq!(whole_lines(b""), b"");
    }
}
