//! Certificates for servers and clients that a test starts.

use crate::{Directory, skip};
use std::process::{Command, Stdio};

/// An authority in a directory, and certificates that it signs for 127.0.0.1.
pub struct Authority(Directory);

impl Authority {
    /// Makes one: `ca.pem`. `None`, with a reason, where OpenSSL is not installed.
    pub fn new(what: &str) -> Option<Authority> {
        if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
            skip("openssl is missing", what);
            return None;
        }
        let authority = Authority(Directory::made("authority"));
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key"];
        authority.openssl(
            &[&["req", "-x509", "-subj", "/CN=authority", "-days", "3650", "-out", "ca.pem"][..], &key].concat(),
        );
        let what = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n";
        authority.0.file("extensions", what);
        Some(authority)
    }

    fn openssl(&self, arguments: &[&str]) {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(self.0.path()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "openssl {arguments:?}");
    }

    /// Makes NAME.pem and NAME.key.
    pub fn sign(&self, name: &str) {
        let [key, request, certificate] = ["key", "csr", "pem"].map(|kind| format!("{name}.{kind}"));
        let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let subject = format!("/CN={name}");
        self.openssl(&[&new[..], &["-keyout", &key, "-out", &request, "-subj", &subject]].concat());
        let by = ["x509", "-req", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions"];
        self.openssl(&[&by[..], &["-in", &request, "-out", &certificate, "-days", "3650"]].concat());
    }

    /// Returns the text of one of its files.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Returns the path of one of its files.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}
