//! The two calls of etcd's API that a load needs.
//!
//! The messages are written by hand with the field numbers of `etcdserverpb` (etcd 3.4, `rpc.proto`); fields that nobody reads
//! are left out, as protobuf allows. So no protobuf compiler is needed.

use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// `PutRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Put {
    /// Which key.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// Its new value.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `PutResponse`: that it comes is all that matters.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PutDone {}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusRequest {}

/// `StatusResponse`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Member {
    /// Who answers.
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    /// The member that leads; 0 if there is none.
    #[prost(uint64, tag = "4")]
    pub leader: u64,
}

/// `ResponseHeader`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Header {
    /// Who answers.
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
}

impl Member {
    /// Whether the member that answers is the leader.
    pub fn is_leader(&self) -> bool {
        self.leader != 0 && self.header.as_ref().is_some_and(|header| header.member_id == self.leader)
    }
}

/// Puts a value: answered when it is chosen and applied.
///
/// # Errors
/// What etcd or the connection reports.
pub async fn put(channel: Channel, put: Put) -> Result<PutDone, Status> {
    call(channel, PathAndQuery::from_static("/etcdserverpb.KV/Put"), put).await
}

/// Asks a member who leads.
///
/// # Errors
/// What etcd or the connection reports.
pub async fn status(channel: Channel) -> Result<Member, Status> {
    call(channel, PathAndQuery::from_static("/etcdserverpb.Maintenance/Status"), StatusRequest {}).await
}

async fn call<Q, A>(channel: Channel, path: PathAndQuery, message: Q) -> Result<A, Status>
where
    Q: prost::Message + Send + Sync + 'static,
    A: prost::Message + Default + Send + Sync + 'static,
{
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let answer = client.unary(Request::new(message), path, ProstCodec::<Q, A>::default()).await?;
    Ok(answer.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn a_put_is_encoded_as_etcd_reads_it() {
        let put = Put { key: b"k".to_vec(), value: b"ab".to_vec() };
        assert_eq!(put.encode_to_vec(), [0x0a, 1, b'k', 0x12, 2, b'a', b'b']);
    }

    /// As etcd 3.4.23 answers: header (cluster 1, member 7, revision 2, term 3), version, size, leader 7, index, term.
    #[test]
    fn a_leader_recognises_itself() {
        let answer = [0x0a, 8, 0x08, 1, 0x10, 7, 0x18, 2, 0x20, 3, 0x12, 1, b'3', 0x18, 9, 0x20, 7, 0x28, 5, 0x30, 3];
        let member = Member::decode(answer.as_slice()).expect("what etcd sends");
        assert_eq!((member.leader, member.is_leader()), (7, true));
        assert!(!Member { leader: 8, ..member.clone() }.is_leader());
        assert!(!Member { leader: 0, header: Some(Header { member_id: 0 }) }.is_leader());
    }
}
