//! The begin of a life.

use super::PAUSE;
use crate::error::{EtcdError, NO_SPACE, Trouble};
use crate::keys::Keys;
use crate::member::{Member, Members, last_entries, signed, unsigned};
use crate::messages::{Compare, Expected, KeyValue, PutRequest, RangeRequest, Request, RequestOp, TxnRequest};
use crate::options::EtcdOptions;
use crate::shared::Begun;
use bytes::Bytes;
use env::Randomness;
use tokio::time::{Instant, sleep};
use total::Position;

/// Value of the key that an order begins with.
const FORMAT: &[u8] = b"seriatim total order 1";

/// Begins a life: from here on no earlier life of this node adds anything (E1).
pub async fn begin(
    options: &EtcdOptions,
    members: &mut Members,
    resume_after: Option<Position>,
) -> Result<Begun, EtcdError> {
    let keys = Keys::new(&options.prefix);
    // What tells this life's put from others', if its answer is lost.
    let nonce = Bytes::copy_from_slice(&Randomness::from_entropy().next_u64().to_le_bytes());
    let give_up = Instant::now() + options.patience;
    let mut tries = 0;
    loop {
        let trouble = match members.connect().await {
            Ok(member) => match begin_at(&member, &keys, options.node, &nonce, resume_after).await {
                Ok(begun) => {
                    members.stay();
                    return Ok(begun);
                }
                Err(trouble) => trouble,
            },
            Err(trouble) => trouble,
        };
        tries += 1;
        match trouble {
            Trouble::End(why) => return Err(EtcdError::Refused(why)),
            Trouble::NoSpace => return Err(EtcdError::Refused(NO_SPACE.into())),
            trouble if tries >= members.len() && Instant::now() >= give_up => {
                return Err(EtcdError::Unavailable(trouble.to_string()));
            }
            _ => sleep(PAUSE).await,
        }
    }
}

async fn begin_at(
    member: &Member,
    keys: &Keys,
    node: u64,
    nonce: &Bytes,
    resume_after: Option<Position>,
) -> Result<Begun, Trouble> {
    let order = put_if_absent(member, keys.order(), Bytes::from_static(FORMAT)).await?;
    if order.value != FORMAT {
        return Err(Trouble::End(
            "the order with this prefix has another format: upgrade all nodes, or begin a new order with another prefix".into(),
        ));
    }
    let created = unsigned(order.create_revision);
    // Before the life, so that what a life needs is kept from its first moment on.
    let needed = resume_after.map_or(created, |at| at.instance.max(created));
    put_if_absent(member, keys.mark(node), needed.to_string().into()).await?;
    let (life, version) = begin_life(member, keys, node, nonce).await?;
    Ok(Begun { life, version, created })
}

/// Puts a key unless it is there, and returns what is there.
async fn put_if_absent(member: &Member, key: Bytes, value: Bytes) -> Result<KeyValue, Trouble> {
    let transaction = TxnRequest {
        compare: vec![Compare::new(key.clone(), Expected::CreateRevision(0))],
        success: vec![put(key.clone(), value), range(key.clone(), false)],
        failure: vec![range(key, false)],
    };
    let answer = member.transact(transaction).await?;
    let found = answer.ranges().next().and_then(|kvs| kvs.first()).cloned();
    found.ok_or_else(|| Trouble::Member(format!("{}: a key that was put is not there", member.address())))
}

/// Puts the node's key of lives once, however often it is tried. Returns the life's number, and the version of the node's log.
async fn begin_life(member: &Member, keys: &Keys, node: u64, nonce: &Bytes) -> Result<(u64, u64), Trouble> {
    let mut before = 0;
    loop {
        let key = keys.life(node);
        let transaction = TxnRequest {
            compare: vec![Compare::new(key.clone(), Expected::ModRevision(signed(before)))],
            success: vec![put(key.clone(), nonce.clone()), range(keys.log(node), true)],
            failure: vec![range(keys.log(node), true), range(key, false)],
        };
        let answer = member.transact(transaction).await?;
        let mut found = answer.ranges();
        let version = found.next().and_then(|kvs| last_entries(kvs).first().map(|last| last.1)).unwrap_or(0);
        let life = found.next().and_then(|kvs| kvs.first());
        match life {
            None => return Ok((unsigned(answer.revision()), version)),
            // This life's own put, whose answer was lost.
            Some(life) if life.value == *nonce => return Ok((unsigned(life.mod_revision), version)),
            Some(life) => before = unsigned(life.mod_revision),
        }
    }
}

fn put(key: Bytes, value: Bytes) -> RequestOp {
    Request::Put(PutRequest { key, value }).into()
}

fn range(key: Bytes, keys_only: bool) -> RequestOp {
    Request::Range(RangeRequest { key, keys_only, ..RangeRequest::default() }).into()
}
