//! Addresses as people write them: by number, by name, or as the URL that clients use.

use std::net::{SocketAddr, ToSocketAddrs};

/// Port of PostgreSQL, taken where none is given.
const PORT: u16 = 5432;

/// Address to listen on: `HOST:PORT`, `HOST` or `postgres://HOST:PORT`. Of the addresses that a name has, a loopback one
/// wins, and of these the one of IPv4, which every client tries.
pub fn listening(text: &str) -> Result<SocketAddr, String> {
    let place = host_and_port(text.trim())?;
    if let Ok(address) = place.parse() {
        return Ok(address);
    }
    let found = place.to_socket_addrs().map_err(|error| format!("cannot look up {place}: {error}"))?;
    found
        .min_by_key(|address| (!address.ip().is_loopback(), address.is_ipv6()))
        .ok_or_else(|| format!("{place} has no address"))
}

/// Takes off what belongs to a URL, and adds the port where there is none.
fn host_and_port(text: &str) -> Result<String, String> {
    let scheme = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let place = scheme.map_or(text, |rest| rest.strip_suffix('/').unwrap_or(rest));
    if place.contains(['/', '@', '?']) {
        return Err("a server listens on HOST:PORT, without a user, a database or options: clients name those".into());
    }
    let (host, port) = match place.rsplit_once(':') {
        // Colons within brackets, or several of them, belong to an address of IPv6.
        Some((host, port)) if !port.contains(']') && (!host.contains(':') || host.ends_with(']')) => {
            (host, port.parse().map_err(|_| format!("{port:?} is not a port: write 0 (any free one) to 65535"))?)
        }
        _ => (place, PORT),
    };
    if host.is_empty() {
        return Err(format!("the host is missing: write localhost:{port} or 127.0.0.1:{port}"));
    }
    let is_bare = host.contains(':') && !host.starts_with('[');
    Ok(if is_bare { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_ports_and_urls() {
        for (text, address) in [
            ("127.0.0.1:5433", "127.0.0.1:5433"),
            ("127.0.0.1", "127.0.0.1:5432"),
            ("localhost:0", "127.0.0.1:0"),
            ("[::1]:5433", "[::1]:5433"),
            ("[::1]", "[::1]:5432"),
            ("::1", "[::1]:5432"),
            ("postgres://localhost", "127.0.0.1:5432"),
            ("postgresql://localhost:5433/", "127.0.0.1:5433"),
        ] {
            assert_eq!(listening(text), Ok(address.parse().unwrap()), "{text}");
        }
        for (text, why) in [
            ("localhost:many", "not a port"),
            ("localhost:65536", "not a port"),
            (":5432", "host is missing"),
            ("", "host is missing"),
            ("postgres://ada@localhost/shop", "without a user"),
            ("no host:5432", "cannot look up no host:5432"),
        ] {
            let error = listening(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
