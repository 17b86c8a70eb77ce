//! Greetings between two ends of one process.

use super::*;
use crate::frame::Packer;

/// A number is all that these ends say of themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity(u64);

impl Part for Identity {
    fn write(&self, out: &mut Vec<u8>) {
        codec::put_number(out, self.0);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        reader.number().map(Self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Key(KeyRefusal),
    Unwanted,
}

const REFUSALS: [Refusal; 4] = [
    Refusal::Key(KeyRefusal::KeyRequired),
    Refusal::Key(KeyRefusal::NoKeyHere),
    Refusal::Key(KeyRefusal::WrongKey),
    Refusal::Unwanted,
];

impl From<KeyRefusal> for Refusal {
    fn from(refusal: KeyRefusal) -> Self {
        Self::Key(refusal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Part for Refusal {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(REFUSALS.iter().position(|refusal| refusal == self).map(|position| position as u8));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        let tag = reader.byte()?;
        REFUSALS.get(usize::from(tag)).copied().ok_or(BadFrame::UnknownMessage(tag))
    }
}

type Greeted = super::Greeted<Identity>;
type GreetingError = super::GreetingError<Refusal>;

/// Message of the ends after the handshake.
#[derive(Debug, PartialEq, Eq)]
struct Word(u64);

impl Wire for Word {
    const KIND: Kind = Kind::Client;

    fn write(&self, out: &mut Vec<u8>) {
        codec::put_number(out, self.0);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        reader.number().map(Self)
    }
}

fn key(byte: u8) -> SharedKey {
    SharedKey::from_bytes(&[byte; 32]).expect("long enough")
}

fn replica(id: u64) -> Identity {
    Identity(id)
}

fn anybody(_: &Identity) -> Result<(), Refusal> {
    Ok(())
}

/// Both ends' results of a greeting with these keys.
fn greet(
    initiator: Option<&SharedKey>,
    acceptor: Option<&SharedKey>,
) -> (Result<Greeted, GreetingError>, Result<Greeted, GreetingError>) {
    greet_and_judge(initiator, acceptor, anybody, anybody)
}

fn greet_and_judge(
    initiator: Option<&SharedKey>,
    acceptor: Option<&SharedKey>,
    initiator_judges: fn(&Identity) -> Result<(), Refusal>,
    acceptor_judges: fn(&Identity) -> Result<(), Refusal>,
) -> (Result<Greeted, GreetingError>, Result<Greeted, GreetingError>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let (mut left, mut right) = tokio::io::duplex(1 << 16);
        let initiate = async {
            let result = initiate(&mut left, initiator, replica(2), initiator_judges).await;
            drop(left);
            result
        };
        let accept = async {
            let result = accept(&mut right, |_| acceptor, replica(1), acceptor_judges).await;
            drop(right);
            result
        };
        tokio::join!(initiate, accept)
    })
}

#[test]
fn ends_with_one_key_or_none_trust_each_other() {
    for key in [None, Some(&key(1))] {
        let (initiator, acceptor) = greet(key, key);
        let (initiator, acceptor) = (initiator.expect("welcome"), acceptor.expect("welcome"));
        assert_eq!((initiator.identity, acceptor.identity), (replica(1), replica(2)));
        let pairs = [(initiator.seal, acceptor.decoder), (acceptor.seal, initiator.decoder)];
        for (seal, mut decoder) in pairs {
            assert_eq!(seal.is_some(), key.is_some());
            let mut packer = Packer::new(seal);
            let mut bytes = Vec::new();
            packer.push(&Word(1)).expect("short");
            packer.drain_into(&mut bytes);
            decoder.buffer().extend_from_slice(&bytes);
            let frame = decoder.next_frame().expect("a frame").expect("whole");
            assert_eq!(frame.message(), Ok(Word(1)));
        }
    }
}

#[test]
fn ends_with_different_keys_refuse_each_other() {
    let (initiator, acceptor) = greet(Some(&key(1)), Some(&key(2)));
    assert!(matches!(initiator, Err(GreetingError::Refusing(Refusal::Key(KeyRefusal::WrongKey)))), "{initiator:?}");
    assert!(
        matches!(acceptor, Err(GreetingError::Refused { refusal: Refusal::Key(KeyRefusal::WrongKey), proved: false })),
        "{acceptor:?}"
    );
    let (initiator, acceptor) = greet(None, Some(&key(2)));
    assert!(
        matches!(
            initiator,
            Err(GreetingError::Refused { refusal: Refusal::Key(KeyRefusal::KeyRequired), proved: false })
        ),
        "{initiator:?}"
    );
    assert!(matches!(acceptor, Err(GreetingError::Refusing(Refusal::Key(KeyRefusal::KeyRequired)))), "{acceptor:?}");
    let (initiator, acceptor) = greet(Some(&key(1)), None);
    assert!(
        matches!(initiator, Err(GreetingError::Refused { refusal: Refusal::Key(KeyRefusal::NoKeyHere), .. })),
        "{initiator:?}"
    );
    assert!(matches!(acceptor, Err(GreetingError::Refusing(Refusal::Key(KeyRefusal::NoKeyHere)))), "{acceptor:?}");
}

#[test]
fn a_refusal_reaches_the_other_end_by_name() {
    let forgetful = |_: &Identity| Err(Refusal::Unwanted);
    let is_refused = |end: &Result<Greeted, GreetingError>| {
        matches!(end, Err(GreetingError::Refused { refusal: Refusal::Unwanted, proved: true }))
    };
    let is_refusing =
        |end: &Result<Greeted, GreetingError>| matches!(end, Err(GreetingError::Refusing(Refusal::Unwanted)));
    for key in [None, Some(&key(1))] {
        let (initiator, acceptor) = greet_and_judge(key, key, anybody, forgetful);
        assert!(is_refused(&initiator) && is_refusing(&acceptor), "{initiator:?} {acceptor:?}");
        let (initiator, acceptor) = greet_and_judge(key, key, forgetful, anybody);
        assert!(is_refusing(&initiator) && is_refused(&acceptor), "{initiator:?} {acceptor:?}");
    }
}

#[test]
fn an_end_that_speaks_something_else_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let error = runtime.block_on(async {
        let (mut left, mut right) = tokio::io::duplex(1 << 16);
        left.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("room");
        accept(&mut right, |_| None, replica(1), anybody).await.expect_err("no greeting")
    });
    assert!(matches!(error, GreetingError::BadFrame(BadFrame::Magic)), "{error}");
}
