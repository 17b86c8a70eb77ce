//! Start-up of a connection: protocol version, user and database.

use crate::codec::backend;
use crate::codec::frontend::violation;
use sql::error::{Result, SqlError, state};
use sql::session::Connect;
use sql::types::encoding;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SSL_REQUEST: u32 = (1234 << 16) | 5679;
const GSS_ENCRYPTION_REQUEST: u32 = (1234 << 16) | 5680;
const CANCEL_REQUEST: u32 = (1234 << 16) | 5678;
/// PostgreSQL's limit.
const LONGEST: usize = 10_000;

/// Request of a new connection.
#[derive(Debug)]
pub enum Start {
    /// A session.
    Session(Connect),
    /// Another session's statement to stop.
    Cancel {
        /// The other session's number.
        process: i32,
        /// Secret key that authorizes the cancellation.
        secret: i32,
    },
    /// A refused request.
    Refused(SqlError),
}

/// Reads the start-up packet; answers requests for encryption with no.
///
/// # Errors
/// The client is gone.
pub async fn negotiate(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin)) -> io::Result<Start> {
    let (mut tls_asked, mut gss_asked) = (false, false);
    loop {
        let length = stream.read_u32().await?;
        let Some(length) = usize::try_from(length).ok().filter(|length| (8..=LONGEST).contains(length)) else {
            return Ok(Start::Refused(violation("invalid length of startup packet")));
        };
        let code = stream.read_u32().await?;
        let mut body = vec![0; length - 8];
        stream.read_exact(&mut body).await?;
        let asked = match code {
            SSL_REQUEST => &mut tls_asked,
            GSS_ENCRYPTION_REQUEST => &mut gss_asked,
            CANCEL_REQUEST => return Ok(cancel(&body)),
            version => return start(version, &body, stream).await,
        };
        if std::mem::replace(asked, true) {
            return Ok(Start::Refused(unsupported_version(code)));
        }
        stream.write_all(b"N").await?;
        stream.flush().await?;
    }
}

fn cancel(body: &[u8]) -> Start {
    match body.as_chunks() {
        ([process, secret], []) => {
            Start::Cancel { process: i32::from_be_bytes(*process), secret: i32::from_be_bytes(*secret) }
        }
        _ => Start::Refused(violation("invalid length of startup packet")),
    }
}

/// Negotiates a newer minor version, and unknown options of the protocol, down to the supported ones.
async fn start(version: u32, body: &[u8], stream: &mut (impl AsyncWriteExt + Unpin)) -> io::Result<Start> {
    if version >> 16 != 3 {
        return Ok(Start::Refused(unsupported_version(version)));
    }
    let parameters = match parameters(body) {
        Ok(parameters) => parameters,
        Err(error) => return Ok(Start::Refused(error)),
    };
    let is_option = |name: &str| name.starts_with("_pq_.");
    let options: Vec<_> = parameters.iter().map(|(name, _)| *name).filter(|name| is_option(name)).collect();
    if version & 0xffff != 0 || !options.is_empty() {
        let mut answer = Vec::new();
        backend::negotiate_version(&mut answer, &options);
        stream.write_all(&answer).await?;
        stream.flush().await?;
    }
    Ok(match connect(parameters.into_iter().filter(|(name, _)| !is_option(name))) {
        Ok(connect) => Start::Session(connect),
        Err(error) => Start::Refused(error),
    })
}

/// Names and values in turn, each with a zero byte behind it, and another one at the end.
fn parameters(body: &[u8]) -> Result<Vec<(&str, &str)>> {
    let layout = || violation("invalid startup packet layout: expected terminator as last byte");
    let texts = match body {
        [0] => return Ok(Vec::new()),
        [texts @ .., 0, 0] => texts,
        _ => return Err(layout()),
    };
    let texts: Vec<_> = texts.split(|&byte| byte == 0).map(encoding::utf8).collect::<std::result::Result<_, _>>()?;
    let (pairs, []) = texts.as_chunks() else { return Err(layout()) };
    Ok(pairs.iter().map(|[name, value]| (*name, *value)).collect())
}

fn connect<'a>(parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Connect> {
    let mut connect = Connect::default();
    for (name, value) in parameters {
        match name {
            "user" => value.clone_into(&mut connect.user),
            "database" => value.clone_into(&mut connect.database),
            "replication" if matches!(value, "false" | "off" | "no" | "0") => {}
            "replication" => return Err(SqlError::unsupported("replication over this protocol")),
            _ => connect.parameters.push((name.to_owned(), value.to_owned())),
        }
    }
    if connect.user.is_empty() {
        let message = "no PostgreSQL user name specified in startup packet";
        return Err(SqlError::new(state::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    if connect.database.is_empty() {
        connect.user.clone_into(&mut connect.database);
    }
    Ok(connect)
}

fn unsupported_version(version: u32) -> SqlError {
    let (major, minor) = (version >> 16, version & 0xffff);
    let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
    SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
}
