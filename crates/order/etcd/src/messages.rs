//! Messages of etcd's API, version 3, as far as the order needs them.
//!
//! They are written by hand with the numbers of `etcdserverpb` and `mvccpb` (etcd 3.4 to 3.6, `rpc.proto`, `kv.proto`), so that no
//! protobuf compiler is needed. Fields that nobody reads are left out, as protobuf permits.

use bytes::Bytes;
use prost::{Message, Oneof};

/// `ResponseHeader`.
#[derive(Clone, PartialEq, Message)]
pub struct Header {
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    #[prost(int64, tag = "3")]
    pub revision: i64,
}

/// `mvccpb.KeyValue`.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(int64, tag = "2")]
    pub create_revision: i64,
    #[prost(int64, tag = "3")]
    pub mod_revision: i64,
    /// How often the key was put since it was created.
    #[prost(int64, tag = "4")]
    pub version: i64,
    #[prost(bytes = "bytes", tag = "5")]
    pub value: Bytes,
}

/// `RangeRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub range_end: Bytes,
    #[prost(int64, tag = "4")]
    pub revision: i64,
    #[prost(bool, tag = "8")]
    pub keys_only: bool,
}

/// `RangeResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub kvs: Vec<KeyValue>,
}

/// `PutRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// `Compare`, for equality only (`EQUAL`, the default of its first field).
#[derive(Clone, PartialEq, Message)]
pub struct Compare {
    /// `VERSION`, `CREATE` or `MOD`.
    #[prost(int32, tag = "2")]
    pub target: i32,
    #[prost(bytes = "bytes", tag = "3")]
    pub key: Bytes,
    #[prost(oneof = "Expected", tags = "4, 5, 6")]
    pub expected: Option<Expected>,
}

/// What a comparison expects.
#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Expected {
    #[prost(int64, tag = "4")]
    Version(i64),
    #[prost(int64, tag = "5")]
    CreateRevision(i64),
    #[prost(int64, tag = "6")]
    ModRevision(i64),
}

impl Compare {
    /// Compares a key's metadata with this.
    pub fn new(key: Bytes, expected: Expected) -> Self {
        let target = match expected {
            Expected::Version(_) => 0,
            Expected::CreateRevision(_) => 1,
            Expected::ModRevision(_) => 2,
        };
        Self { target, key, expected: Some(expected) }
    }
}

/// `RequestOp`.
#[derive(Clone, PartialEq, Message)]
pub struct RequestOp {
    #[prost(oneof = "Request", tags = "1, 2")]
    pub request: Option<Request>,
}

/// What a transaction does.
#[derive(Clone, PartialEq, Oneof)]
pub enum Request {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
}

impl From<Request> for RequestOp {
    fn from(request: Request) -> Self {
        Self { request: Some(request) }
    }
}

/// `TxnRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub failure: Vec<RequestOp>,
}

/// `ResponseOp`; of a put, nothing.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    pub range: Option<RangeResponse>,
}

/// `TxnResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub responses: Vec<ResponseOp>,
}

impl TxnResponse {
    /// Keys that its ranges have found, one range after the other.
    pub fn ranges(&self) -> impl Iterator<Item = &[KeyValue]> {
        self.responses.iter().filter_map(|each| each.range.as_ref()).map(|range| &range.kvs[..])
    }

    /// Revision of the store when it was carried out.
    pub fn revision(&self) -> i64 {
        self.header.as_ref().map_or(0, |header| header.revision)
    }
}

/// `CompactionRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct CompactionRequest {
    #[prost(int64, tag = "1")]
    pub revision: i64,
}

/// `CompactionResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct CompactionResponse {}

/// `AuthenticateRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub password: String,
}

/// `AuthenticateResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub token: String,
}

/// `WatchRequest`, of which only the creation is needed.
#[derive(Clone, PartialEq, Message)]
pub struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub create: Option<WatchCreateRequest>,
}

/// `WatchCreateRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct WatchCreateRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub range_end: Bytes,
    #[prost(int64, tag = "3")]
    pub start_revision: i64,
    /// Long responses come in pieces.
    #[prost(bool, tag = "8")]
    pub fragment: bool,
}

/// `WatchResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(bool, tag = "4")]
    pub canceled: bool,
    /// Not zero: the start of the watch is no longer kept.
    #[prost(int64, tag = "5")]
    pub compact_revision: i64,
    #[prost(string, tag = "6")]
    pub cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<WatchEvent>,
}

/// `mvccpb.Event`.
#[derive(Clone, PartialEq, Message)]
pub struct WatchEvent {
    /// 0: a put. 1: a deletion.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(message, optional, tag = "2")]
    pub kv: Option<KeyValue>,
}

/// Whether messages have header's revision and cluster; all but a compaction's have.
pub trait Headed {
    /// The header.
    fn header(&self) -> Option<&Header>;
}

impl Headed for TxnResponse {
    fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }
}

impl Headed for RangeResponse {
    fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_with_zero_is_written() {
        let compare = Compare::new(Bytes::from_static(b"k"), Expected::Version(0));
        assert_eq!(compare.encode_to_vec(), [0x1a, 1, b'k', 0x20, 0]);
        let compare = Compare::new(Bytes::from_static(b"k"), Expected::ModRevision(7));
        assert_eq!(compare.encode_to_vec(), [0x10, 2, 0x1a, 1, b'k', 0x30, 7]);
    }

    /// As etcd 3.4.23 answers: header (cluster 1, member 7, revision 2, term 3), succeeded, one range with a key without a value.
    #[test]
    fn a_transaction_s_answer_is_read() {
        let kv = [0x0a, 1, b'k', 0x10, 4, 0x18, 9, 0x20, 3];
        let mut range = vec![0x12, kv.len() as u8];
        range.extend(kv);
        range.extend([0x20, 1]);
        let mut op = vec![0x0a, range.len() as u8];
        op.extend(range);
        let mut answer = vec![0x0a, 8, 0x08, 1, 0x10, 7, 0x18, 2, 0x20, 3, 0x10, 1, 0x1a, op.len() as u8];
        answer.extend(op);
        let answer = TxnResponse::decode(&answer[..]).expect("what etcd sends");
        assert!(answer.succeeded);
        assert_eq!((answer.revision(), answer.header().map(|header| header.cluster_id)), (2, Some(1)));
        let found: Vec<_> = answer.ranges().flatten().map(|kv| (kv.mod_revision, kv.version)).collect();
        assert_eq!(found, [(9, 3)]);
    }
}
