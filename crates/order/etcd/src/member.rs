//! A connection to one member of etcd, and the calls that the order makes.

use crate::error::{EtcdError, Trouble, trouble};
use crate::keys::{Keys, node_of};
use crate::messages::{
    AuthenticateRequest, AuthenticateResponse, CompactionRequest, CompactionResponse, Compare, Expected, Headed,
    KeyValue, PutRequest, RangeRequest, RangeResponse, Request, TxnRequest, TxnResponse, WatchCreateRequest,
    WatchRequest, WatchResponse,
};
use crate::options::{EtcdOptions, EtcdTls, EtcdUser};
use bytes::Bytes;
use env::time::Duration;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_stream::StreamExt;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{AsciiMetadataValue, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;

/// Bytes that a member sends ahead of what is read.
const WINDOW_BYTES: u32 = 4 << 20;
/// The longest answer that is read: some values of at most 1.5 MiB, or a piece of a watch.
const ANSWER_BYTES: usize = 16 << 20;
/// etcd refuses clients that send pings more often than every 5 s.
const PING: Duration = Duration::from_secs(10);

/// The members of a cluster, of which one is used at a time.
#[derive(Debug)]
pub struct Members {
    endpoints: Vec<Endpoint>,
    user: Option<EtcdUser>,
    /// The one to try next.
    next: usize,
    patience: Duration,
    /// The cluster's number, zero until it is known. Relaxed: it publishes nothing else.
    cluster: Arc<AtomicU64>,
}

impl Members {
    pub fn new(options: &EtcdOptions, patience: Duration) -> Result<Self, EtcdError> {
        let endpoints = options.endpoints.iter().map(|address| endpoint(address, options.tls.as_ref(), patience));
        let endpoints: Vec<_> = endpoints.collect::<Result<_, _>>()?;
        if endpoints.is_empty() {
            return Err(EtcdError::Endpoint("none was given".into()));
        }
        Ok(Self { endpoints, user: options.user.clone(), next: 0, patience, cluster: Arc::default() })
    }

    pub fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// Connects to the next member.
    pub async fn connect(&mut self) -> Result<Member, Trouble> {
        let endpoint = &self.endpoints[self.next];
        self.next = (self.next + 1) % self.endpoints.len();
        let address: Arc<str> = endpoint.uri().to_string().into();
        let connected = tokio::time::timeout(self.patience, endpoint.connect()).await;
        let channel = match connected {
            Ok(Ok(channel)) => channel,
            Ok(Err(error)) => return Err(Trouble::Member(format!("{address}: {}", causes(&error)))),
            Err(_) => return Err(Trouble::Member(format!("{address}: no connection within {:?}", self.patience))),
        };
        let cluster = Arc::clone(&self.cluster);
        let mut member = Member { channel, address, token: None, patience: self.patience, cluster };
        if let Some(user) = &self.user {
            member.authenticate(user).await?;
        }
        Ok(member)
    }

    /// The member that was used last answers well: prefer it.
    pub fn stay(&mut self) {
        self.next = (self.next + self.endpoints.len() - 1) % self.endpoints.len();
    }
}

/// Reads an address. What is meant to be encrypted is never sent in the clear.
fn endpoint(address: &str, tls: Option<&EtcdTls>, patience: Duration) -> Result<Endpoint, EtcdError> {
    let wrong = |why: &dyn std::error::Error| EtcdError::Endpoint(format!("{address}: {}", causes(why)));
    let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|error| wrong(&error))?;
    let is_https = endpoint.uri().scheme_str() == Some("https");
    let endpoint = match tls {
        Some(tls) if is_https => endpoint.tls_config(client_config(tls)).map_err(|error| wrong(&error))?,
        None if !is_https => endpoint,
        Some(_) => return Err(EtcdError::Endpoint(format!("{address}: with TLS it begins with https://"))),
        None => return Err(EtcdError::Endpoint(format!("{address}: https needs the certificates of its authorities"))),
    };
    Ok(endpoint
        .tcp_nodelay(true)
        .connect_timeout(patience)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(2 * WINDOW_BYTES)
        .http2_keep_alive_interval(PING)
        .keep_alive_while_idle(true))
}

fn client_config(tls: &EtcdTls) -> ClientTlsConfig {
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.authorities));
    match &tls.identity {
        Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
        None => config,
    }
}

/// An error with its causes: that of tonic alone says "transport error".
fn causes(error: &dyn std::error::Error) -> String {
    let all = std::iter::successors(error.source(), |cause| cause.source());
    all.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A connection to a member. A clone shares it.
#[derive(Clone, Debug)]
pub struct Member {
    channel: Channel,
    address: Arc<str>,
    /// What etcd has given this connection's user.
    token: Option<AsciiMetadataValue>,
    patience: Duration,
    cluster: Arc<AtomicU64>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The node's key has this version, which the batch has made, or a later one.
    Version(u64),
    /// The batch before it is not applied yet.
    Early,
    /// Another life of the node has begun.
    Fenced,
}

/// Last entry of a node in the log: node, version, revision.
pub type Last = (u64, u64, u64);

impl Member {
    async fn call<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Trouble>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let mut client = self.client();
        let answer = async {
            client.ready().await.map_err(|error| Status::unavailable(causes(&error)))?;
            let codec = ProstCodec::<Q, A>::default();
            client.unary(self.request(message), PathAndQuery::from_static(path), codec).await
        };
        Ok(self.in_time(answer).await?.into_inner())
    }

    /// A request in the name of this connection's user.
    fn request<Q>(&self, message: Q) -> tonic::Request<Q> {
        let mut request = tonic::Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    async fn authenticate(&mut self, user: &EtcdUser) -> Result<(), Trouble> {
        let request = AuthenticateRequest { name: user.name.clone(), password: user.password.clone() };
        let AuthenticateResponse { token } = self.call("/etcdserverpb.Auth/Authenticate", request).await?;
        let token = token.parse().map_err(|_| Trouble::Member(format!("{}: its token is no text", self.address)))?;
        self.token = Some(token);
        Ok(())
    }

    fn client(&self) -> tonic::client::Grpc<Channel> {
        tonic::client::Grpc::new(self.channel.clone()).max_decoding_message_size(ANSWER_BYTES)
    }

    async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Status>>) -> Result<T, Trouble> {
        match tokio::time::timeout(self.patience, answer).await {
            Ok(answer) => answer.map_err(|status| trouble(&self.address, &status)),
            Err(_) => Err(Trouble::Member(format!("{}: no answer within {:?}", self.address, self.patience))),
        }
    }

    /// Fails if the answer is that of another cluster than the answers before.
    fn same_cluster(&self, answer: &impl Headed) -> Result<(), Trouble> {
        let cluster = answer.header().map_or(0, |header| header.cluster_id);
        let before = self.cluster.compare_exchange(0, cluster, Ordering::Relaxed, Ordering::Relaxed);
        match before {
            Err(before) if before != cluster => Err(Trouble::End(format!(
                "{} is a member of another etcd cluster than the members before it: correct the endpoints",
                self.address
            ))),
            _ => Ok(()),
        }
    }

    /// Carries a transaction out.
    pub async fn transact(&self, transaction: TxnRequest) -> Result<TxnResponse, Trouble> {
        let answer: TxnResponse = self.call("/etcdserverpb.KV/Txn", transaction).await?;
        self.same_cluster(&answer)?;
        Ok(answer)
    }

    /// Reads some keys, as of a revision unless it is zero.
    pub async fn range(&self, range: RangeRequest) -> Result<Vec<KeyValue>, Trouble> {
        let answer: RangeResponse = self.call("/etcdserverpb.KV/Range", range).await?;
        self.same_cluster(&answer)?;
        Ok(answer.kvs)
    }

    /// Returns the last entries of all nodes up to a revision.
    pub async fn log_at(&self, keys: &Keys, revision: u64) -> Result<Vec<Last>, Trouble> {
        let (key, range_end) = keys.logs();
        let found = self.range(RangeRequest { key, range_end, revision: signed(revision), keys_only: true }).await?;
        Ok(last_entries(&found))
    }

    /// Puts a batch, if the node's key has the version before it and the node's life is this one (E1, E2).
    pub async fn append(
        &self,
        keys: &Keys,
        node: u64,
        life: u64,
        append: crate::outgoing::Append,
    ) -> Result<Appended, Trouble> {
        let (log, life_key) = (keys.log(node), keys.life(node));
        let key_only = |key: Bytes| Request::Range(RangeRequest { key, keys_only: true, ..RangeRequest::default() });
        let transaction = TxnRequest {
            compare: vec![
                Compare::new(log.clone(), Expected::Version(signed(append.version - 1))),
                Compare::new(life_key.clone(), Expected::ModRevision(signed(life))),
            ],
            success: vec![Request::Put(PutRequest { key: log.clone(), value: append.value }).into()],
            failure: vec![key_only(log).into(), key_only(life_key).into()],
        };
        let answer = self.transact(transaction).await?;
        if answer.succeeded {
            return Ok(Appended::Version(append.version));
        }
        let mut found = answer.ranges().map(|kvs| kvs.first());
        let version = found.next().flatten().map_or(0, |kv| unsigned(kv.version));
        let current = found.next().flatten().map_or(0, |kv| unsigned(kv.mod_revision));
        Ok(match version >= append.version {
            _ if current != life => Appended::Fenced,
            true => Appended::Version(version),
            false => Appended::Early,
        })
    }

    /// Forgets what is before a revision.
    pub async fn compact(&self, revision: u64) -> Result<(), Trouble> {
        let request = CompactionRequest { revision: signed(revision) };
        match self.call("/etcdserverpb.KV/Compact", request).await {
            // Another node has.
            Err(Trouble::Compacted) => Ok(()),
            answer => answer.map(|CompactionResponse {}| ()),
        }
    }

    /// Watches the log from a revision on. Ends when the member loses its leader.
    pub async fn watch(&self, keys: &Keys, from: u64) -> Result<Streaming<WatchResponse>, Trouble> {
        let (key, range_end) = keys.logs();
        let create = WatchCreateRequest { key, range_end, start_revision: signed(from), fragment: true };
        // The watch lasts as long as this side of the stream.
        let requests = tokio_stream::once(WatchRequest { create: Some(create) }).chain(tokio_stream::pending());
        let mut request = self.request(requests);
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        let mut client = self.client();
        let answer = async {
            client.ready().await.map_err(|error| Status::unavailable(causes(&error)))?;
            let codec = ProstCodec::<WatchRequest, WatchResponse>::default();
            client.streaming(request, PathAndQuery::from_static("/etcdserverpb.Watch/Watch"), codec).await
        };
        Ok(self.in_time(answer).await?.into_inner())
    }

    /// Says what an error of a watch means.
    pub fn watch_trouble(&self, status: &Status) -> Trouble {
        trouble(&self.address, status)
    }

    /// Returns the address, for messages.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Returns the last entry of each node.
pub fn last_entries(kvs: &[KeyValue]) -> Vec<Last> {
    let last = |kv: &KeyValue| Some((node_of(&kv.key)?, unsigned(kv.version), unsigned(kv.mod_revision)));
    kvs.iter().filter_map(last).collect()
}

/// etcd's numbers are signed, and never negative.
pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A revision or version as etcd writes it; one that etcd cannot have is in its future.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
