//! Names of the order's keys.
//!
//! ```text
//!   PREFIX/order       the order's format; its revision is where the order begins
//!   PREFIX/life/NODE   put once by each life; its revision is the life's number
//!   PREFIX/log/NODE    put once for each batch of the node; its history is the log
//!   PREFIX/mark/NODE   what the node still needs
//! ```

use bytes::Bytes;

/// The keys of an order.
#[derive(Clone, Debug)]
pub struct Keys(String);

impl Keys {
    pub fn new(prefix: &str) -> Self {
        Self(prefix.trim_end_matches('/').to_owned())
    }

    pub fn order(&self) -> Bytes {
        format!("{}/order", self.0).into()
    }

    pub fn life(&self, node: u64) -> Bytes {
        format!("{}/life/{node}", self.0).into()
    }

    pub fn log(&self, node: u64) -> Bytes {
        format!("{}/log/{node}", self.0).into()
    }

    pub fn mark(&self, node: u64) -> Bytes {
        format!("{}/mark/{node}", self.0).into()
    }

    /// Begin and end of the keys of all nodes.
    fn all(&self, kind: &str) -> (Bytes, Bytes) {
        // `0` follows `/`.
        (format!("{}/{kind}/", self.0).into(), format!("{}/{kind}0", self.0).into())
    }

    pub fn lives(&self) -> (Bytes, Bytes) {
        self.all("life")
    }

    pub fn logs(&self) -> (Bytes, Bytes) {
        self.all("log")
    }

    pub fn marks(&self) -> (Bytes, Bytes) {
        self.all("mark")
    }
}

/// Returns the node of a key of the kinds that nodes have.
pub fn node_of(key: &[u8]) -> Option<u64> {
    let number = key.rsplit(|byte| *byte == b'/').next()?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_kind_are_in_its_range_and_no_others() {
        let keys = Keys::new("/a/b/");
        let (begin, end) = keys.logs();
        for node in [0, 9, 10, u64::MAX] {
            assert!((&begin..&end).contains(&&keys.log(node)));
            assert_eq!(node_of(&keys.log(node)), Some(node));
            assert!(![keys.life(node), keys.mark(node), keys.order()].iter().any(|key| (&begin..&end).contains(&key)));
        }
        assert_eq!(node_of(b"/a/b/log/x"), None);
    }
}
