//! A new voter is silent until every other one has met it.

use super::*;
use crate::core::Proved;
use crate::core::generated::waits;

fn handled(replica: &mut Replica, now: Moment, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    replica.handle(now, input, &mut effects);
    effects
}

/// Counts the messages that bind the replica: promises, votes and prepares.
fn oaths(effects: &[Effect]) -> usize {
    effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Send(_, PeerMessage::Core(message)) if waits(message)))
        .count()
}

#[test]
fn an_unadmitted_replica_promises_nothing_before_all_voters_have_met_it() {
    let mut replica = Replica::new(Options::new(3, 0), Moment(0), 1).unwrap().unadmitted();
    let peer = |from, message| Input::Peer { from, message: PeerMessage::Core(message) };
    assert_eq!(oaths(&handled(&mut replica, Moment(1), Input::Connected(1))), 0);
    assert_eq!(oaths(&handled(&mut replica, Moment(2), Input::Connected(5))), 0, "a learner has no say");
    let suspicion = || Input::Peer { from: 1, message: PeerMessage::Suspicion(0) };
    let late = Moment(10_000_000_000);
    for input in
        [suspicion(), Input::Tick, peer(1, Message::Prepare(4, 0)), peer(1, Message::Propose(4, 0, Value::new()))]
    {
        assert_eq!(oaths(&handled(&mut replica, late, input)), 0);
    }
    assert!(!replica.is_admitted());
    let effects = handled(&mut replica, late, Input::Connected(2));
    assert!(replica.is_admitted() && effects.iter().any(|effect| matches!(effect, Effect::Admitted)));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Send(_, PeerMessage::Core(m)) if waits(m))));
    assert_eq!(oaths(&handled(&mut replica, late, peer(1, Message::Propose(4, 1, Value::new())))), 1);
    let again = handled(&mut replica, late, Input::Connected(2));
    assert!(!again.iter().any(|effect| matches!(effect, Effect::Admitted)), "once");
}

#[test]
fn who_is_alone_and_who_only_learns_waits_for_nobody() {
    assert!(Replica::<Proved>::new(Options::new(1, 0), Moment(0), 1).unwrap().unadmitted().is_admitted());
    assert!(Replica::<Proved>::new(Options::new(3, 3), Moment(0), 1).unwrap().unadmitted().is_admitted());
}
