//! Why a node of an order on etcd does not start, or has stopped.

use std::fmt;

/// Why a node does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EtcdError {
    /// An endpoint is no address.
    Endpoint(String),
    /// No member has answered as it should in the time given; the last problem.
    Unavailable(String),
    /// etcd does what was asked for, but cannot be used: the reason, and what to do.
    Refused(String),
    /// The operating system refuses a thread or a socket.
    System(String),
}

impl fmt::Display for EtcdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(why) => write!(f, "this is no address of an etcd member: {why}"),
            Self::Unavailable(why) => write!(f, "no member of etcd can be used: {why}"),
            Self::Refused(why) => f.write_str(why),
            Self::System(why) => write!(f, "cannot start: {why}"),
        }
    }
}

impl std::error::Error for EtcdError {}

/// Why a connection to a member was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The member does not answer, or has no leader: another one may.
    Member(String),
    /// etcd's quota is used up.
    NoSpace,
    /// The revision that was asked for is compacted.
    Compacted,
    /// Trying again does not help.
    End(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(why) | Self::End(why) => f.write_str(why),
            Self::NoSpace => f.write_str(NO_SPACE),
            Self::Compacted => f.write_str("what was asked for is compacted"),
        }
    }
}

/// What an operator does when etcd's quota is used up.
pub(crate) const NO_SPACE: &str = "etcd's space quota is used up (NOSPACE). Free space with `etcdctl compact` and `etcdctl defrag`, or \
    raise --quota-backend-bytes; then `etcdctl alarm disarm`. Payloads that were taken are ordered after that";

/// Says what a status of gRPC means for us. etcd's errors are told from each other by their texts alone, in its own clients too.
pub(crate) fn trouble(endpoint: &str, status: &tonic::Status) -> Trouble {
    let text = status.message();
    let has = |part: &str| text.contains(part);
    match status.code() {
        _ if has("revision has been compacted") => Trouble::Compacted,
        _ if has("is a future revision") => Trouble::End(
            "the position to go on from is beyond the end of etcd's history: this is another etcd cluster, or it was restored from a \
             backup; begin a new order with another prefix"
                .into(),
        ),
        _ if has("database space exceeded") => Trouble::NoSpace,
        _ if has("request is too large") => {
            Trouble::End(format!("{endpoint} refuses long requests: set its --max-request-bytes to 1572864 (its default) or more"))
        }
        // Members forget tokens when they start; the next connection gets another one.
        _ if has("invalid auth token") => Trouble::Member(format!("{endpoint}: {text}")),
        _ if has("authentication failed") => {
            Trouble::End(format!("{endpoint} knows no such user with this password: {text}"))
        }
        tonic::Code::PermissionDenied | tonic::Code::Unauthenticated | tonic::Code::Unimplemented => {
            Trouble::End(format!("{endpoint} refuses this node: {text}; its user needs to read and write the keys of the prefix"))
        }
        _ if has("user name is empty") => {
            Trouble::End(format!("{endpoint} wants a user and a password, and none was given: {text}"))
        }
        code => Trouble::Member(format!("{endpoint}: {text} ({code:?})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::{Code, Status};

    #[test]
    fn etcd_s_errors_are_told_from_each_other() {
        let trouble = |code, text: &str| trouble("http://a", &Status::new(code, text));
        assert_eq!(
            trouble(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted"),
            Trouble::Compacted
        );
        assert_eq!(trouble(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded"), Trouble::NoSpace);
        let future = trouble(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision");
        assert!(matches!(future, Trouble::End(_)));
        let large = trouble(Code::InvalidArgument, "etcdserver: request is too large");
        assert!(matches!(large, Trouble::End(why) if why.contains("--max-request-bytes")));
        assert!(matches!(trouble(Code::Unauthenticated, "etcdserver: invalid auth token"), Trouble::Member(_)));
        assert!(matches!(trouble(Code::PermissionDenied, "etcdserver: permission denied"), Trouble::End(_)));
        assert!(matches!(trouble(Code::Unavailable, "etcdserver: no leader"), Trouble::Member(_)));
        assert!(matches!(trouble(Code::ResourceExhausted, "etcdserver: too many requests"), Trouble::Member(_)));
    }
}
