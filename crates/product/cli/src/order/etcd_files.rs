//! What a node trusts and shows where etcd wants it, from files.

use crate::failure::{Failure, Outcome};
use etcd::{EtcdTls, EtcdUser};
use std::path::Path;

/// Files of a node that talks with etcd.
pub struct EtcdFiles<'a> {
    /// The authorities of the members' certificates.
    pub cacert: Option<&'a Path>,
    /// This node's certificate and its key.
    pub cert: Option<(&'a Path, &'a Path)>,
    /// A user, and the file with the password in its first line.
    pub user: Option<(&'a str, &'a Path)>,
}

impl EtcdFiles<'_> {
    /// Reads them.
    pub fn read(&self) -> Outcome<(Option<EtcdTls>, Option<EtcdUser>)> {
        let tls = self.cacert.map(|authorities| {
            let read = |(certificate, key)| Outcome::Ok((text_of(certificate)?, text_of(key)?));
            Outcome::Ok(EtcdTls { authorities: text_of(authorities)?, identity: self.cert.map(read).transpose()? })
        });
        let user = self.user.map(|(name, file)| {
            let password = text_of(file)?.lines().next().unwrap_or_default().to_owned();
            Outcome::Ok(EtcdUser { name: name.to_owned(), password })
        });
        Ok((tls.transpose()?, user.transpose()?))
    }
}

fn text_of(file: &Path) -> Outcome<String> {
    std::fs::read_to_string(file).map_err(|error| Failure::Trouble(format!("cannot read {}: {error}", file.display())))
}
