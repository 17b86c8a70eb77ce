//! Members that want certificates, or users with passwords.

mod common;

use common::Etcd;
use env::time::Duration;
use seriatim_etcd::{EtcdError, EtcdOptions, EtcdOrder, EtcdTls, EtcdUser};
use testing::{Authority, Members};
use total::suite::{Cluster, propose, take};
use total::{OrderLimits, TotalOrder};

fn start(options: EtcdOptions) -> Result<EtcdOrder, EtcdError> {
    EtcdOrder::start(options, OrderLimits::default(), None)
}

/// Starts a node that should not start: the first error counts.
fn refused(options: EtcdOptions) -> EtcdError {
    start(EtcdOptions { patience: Duration::ZERO, ..options }).expect_err("it should be refused")
}

fn assert_works(order: &EtcdOrder) {
    propose::<Etcd>(order, "x".into());
    take::<Etcd>(order, &[order.origin().node], 1);
    order.barrier(Etcd::PATIENCE).expect("it is placed");
}

#[test]
fn members_and_nodes_show_their_certificates() {
    if !Etcd::can_start() {
        return;
    }
    let Some(authority) = Authority::new("certificates of etcd") else { return };
    let Some(stranger) = Authority::new("certificates of etcd") else { return };
    ["member", "node"].iter().for_each(|name| authority.sign(name));
    let [ca, certificate, key] = ["ca.pem", "member.pem", "member.key"].map(|name| authority.path(name));
    let arguments = ["--client-cert-auth", "--trusted-ca-file", &ca, "--cert-file", &certificate, "--key-file", &key];
    let members = Members::start(1, "https", &arguments);
    let identity = Some((authority.text("node.pem"), authority.text("node.key")));
    let tls = EtcdTls { authorities: authority.text("ca.pem"), identity };
    let options = EtcdOptions { tls: Some(tls.clone()), ..EtcdOptions::new(0, vec![members.address(0)]) };
    assert_works(&start(options.clone()).unwrap());
    assert!(!format!("{options:?}").contains("PRIVATE KEY"));

    let other = EtcdTls { authorities: stranger.text("ca.pem"), ..tls.clone() };
    let unknown = refused(EtcdOptions { tls: Some(other), ..options.clone() });
    assert!(matches!(&unknown, EtcdError::Unavailable(why) if why.contains("invalid peer certificate")), "{unknown}");
    let nobody = EtcdTls { identity: None, ..tls };
    let nobody = refused(EtcdOptions { tls: Some(nobody), ..options.clone() });
    assert!(matches!(nobody, EtcdError::Unavailable(_)), "{nobody}");
    let clear = refused(EtcdOptions { endpoints: vec!["http://127.0.0.1:1".into()], ..options.clone() });
    assert!(matches!(&clear, EtcdError::Endpoint(why) if why.contains("https://")), "{clear}");
    let untrusting = refused(EtcdOptions { tls: None, ..options });
    assert!(matches!(&untrusting, EtcdError::Endpoint(why) if why.contains("authorities")), "{untrusting}");
}

#[test]
fn a_user_reaches_the_keys_of_its_role() {
    if !Etcd::can_start() {
        return;
    }
    let mut members = Members::start(1, "http", &[]);
    members.leader();
    let do_it = |path: &str, body: &str| assert!(members.ask(0, path, body).is_some(), "{path} {body}");
    for (user, password) in [("root", "secret"), ("orderer", "word"), ("other", "thing")] {
        do_it("auth/user/add", &format!(r#"{{"name":"{user}","password":"{password}"}}"#));
        do_it("auth/role/add", &format!(r#"{{"name":"{user}"}}"#));
        do_it("auth/user/grant", &format!(r#"{{"user":"{user}","role":"{user}"}}"#));
    }
    // From `/seriatim/` to `/seriatim0`.
    let keys = r#""key":"L3NlcmlhdGltLw==","range_end":"L3NlcmlhdGltMA==""#;
    do_it("auth/role/grant", &format!(r#"{{"name":"orderer","perm":{{"permType":"READWRITE",{keys}}}}}"#));
    do_it("auth/enable", "{}");

    let options = |user: Option<(&str, &str)>| {
        let user = user.map(|(name, password)| EtcdUser { name: name.into(), password: password.into() });
        EtcdOptions { user, ..EtcdOptions::new(0, vec![members.address(0)]) }
    };
    let order = start(options(Some(("orderer", "word")))).unwrap();
    assert_works(&order);
    assert!(!format!("{:?}", options(Some(("orderer", "word")))).contains("word"));
    for (user, reason) in [
        (None, "wants a user and a password"),
        (Some(("orderer", "guess")), "knows no such user with this password"),
        (Some(("other", "thing")), "needs to read and write the keys of the prefix"),
    ] {
        let error = refused(options(user));
        assert!(matches!(&error, EtcdError::Refused(why) if why.contains(reason)), "{error}");
    }
    // A member that starts again has forgotten the tokens that it gave.
    members.kill(0);
    members.start_again(0);
    assert_works(&order);
}
