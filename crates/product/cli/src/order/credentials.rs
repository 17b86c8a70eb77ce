//! What a client of an ordering service trusts and shows, from files.

use crate::failure::{Failure, Outcome};
use etcd::{EtcdTls, EtcdUser};
use std::path::Path;

/// Files with what a client trusts and shows.
pub struct Credentials<'a> {
    /// The authorities of the servers' certificates.
    pub cacert: Option<&'a Path>,
    /// The client's certificate and its key.
    pub cert: Option<(&'a Path, &'a Path)>,
    /// A user, and the file with the password in its first line.
    pub user: Option<(&'a str, &'a Path)>,
}

/// The authorities' certificates, and the client's with its key.
pub type Tls = (String, Option<(String, String)>);

impl Credentials<'_> {
    /// Reads the certificates.
    pub fn tls(&self) -> Outcome<Option<Tls>> {
        let Some(authorities) = self.cacert else { return Ok(None) };
        let read = |(certificate, key)| Outcome::Ok((text_of(certificate)?, text_of(key)?));
        Ok(Some((text_of(authorities)?, self.cert.map(read).transpose()?)))
    }

    /// Reads the user's name and password.
    pub fn user(&self) -> Outcome<Option<(String, String)>> {
        let Some((name, file)) = self.user else { return Ok(None) };
        let password = text_of(file)?.lines().next().unwrap_or_default().to_owned();
        Ok(Some((name.to_owned(), password)))
    }

    /// Both, for etcd.
    pub fn for_etcd(&self) -> Outcome<(Option<EtcdTls>, Option<EtcdUser>)> {
        let tls = self.tls()?.map(|(authorities, identity)| EtcdTls { authorities, identity });
        Ok((tls, self.user()?.map(|(name, password)| EtcdUser { name, password })))
    }
}

fn text_of(file: &Path) -> Outcome<String> {
    std::fs::read_to_string(file).map_err(|error| Failure::Trouble(format!("cannot read {}: {error}", file.display())))
}
