//! Every message as a frame: what is written is read again, and whatever a network brings is refused by name.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use codec::put_number;
use net::auth::{ConnectionKeys, SharedKey, TAG_BYTES};
use net::frame::{
    BadFrame, Decoder, Frame, HEADER_BYTES, Kind, MAX_FRAME_BYTES, NUMBER_LIMIT, Packer, READ_BYTES, Reader, TooLong,
    Wire, encode,
};
use paxos::core::generated::{Decision, Message, Vote};
use paxos::core::prim::Image;
use paxos::message::PeerMessage;
use seriatim_rsm::message::{ClientMessage, Outcome, ReplicaMessage};
use seriatim_rsm::wire::MAX_CLIENT_FRAME_BYTES;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..300_u64, 0..NUMBER_LIMIT, Just(NUMBER_LIMIT - 1)]
}

fn payload() -> impl Strategy<Value = Bytes> {
    prop_oneof![vec(any::<u8>(), 0..200), vec(any::<u8>(), 4_000..4_200)].prop_map(Bytes::from)
}

fn core_message() -> impl Strategy<Value = Message> {
    let vote = (number(), number(), payload()).prop_map(|(instance, ballot, value)| Vote { instance, ballot, value });
    let decision = (number(), payload()).prop_map(|(instance, value)| Decision { instance, value });
    prop_oneof![
        (number(), number()).prop_map(|(b, k)| Message::Prepare(b, k)),
        (number(), number(), vec(vote, 0..5)).prop_map(|(b, k, votes)| Message::Promise(b, k, votes)),
        (number(), number(), payload()).prop_map(|(b, i, v)| Message::Propose(b, i, v)),
        (number(), number()).prop_map(|(b, i)| Message::Accept(b, i)),
        (number(), number()).prop_map(|(b, i)| Message::Commit(b, i)),
        number().prop_map(Message::Reject),
        (number(), number()).prop_map(|(b, i)| Message::Alive(b, i)),
        (number(), number()).prop_map(|(lo, hi)| Message::Query(lo, hi)),
        vec(decision, 0..5).prop_map(Message::Learned),
        number().prop_map(Message::Truncated),
        payload().prop_map(Message::Forward),
    ]
}

fn peer_message() -> impl Strategy<Value = PeerMessage> {
    let piece = (number(), 0..1_000_u64, 0..1_000_u64, payload()).prop_map(|(at, offset, rest, bytes)| {
        PeerMessage::Piece { at, offset, total: offset + bytes.len() as u64 + rest, bytes }
    });
    prop_oneof![
        10 => core_message().prop_map(PeerMessage::Core),
        1 => number().prop_map(PeerMessage::Suspicion),
        1 => number().prop_map(PeerMessage::Records),
        1 => number().prop_map(PeerMessage::Durable),
        1 => piece,
    ]
}

fn client_message() -> impl Strategy<Value = ClientMessage> {
    let request = (number(), number(), any::<u64>(), payload())
        .prop_map(|(session, sequence, nonce, body)| ClientMessage::Request { session, sequence, nonce, body });
    prop_oneof![1 => any::<u64>().prop_map(ClientMessage::Open), 5 => request, 1 => Just(ClientMessage::Status)]
}

fn replica_message() -> impl Strategy<Value = ReplicaMessage> {
    let outcome = prop_oneof![
        (number(), payload()).prop_map(|(at, answer)| Outcome::Executed(at, answer)),
        Just(Outcome::Forgotten),
        Just(Outcome::Early),
        Just(Outcome::UnknownSession),
        Just(Outcome::ForeignSession),
        number().prop_map(Outcome::TooLarge),
        number().prop_map(Outcome::ReplyTooLarge),
    ];
    prop_oneof![
        1 => (option::of(0..64_u64), option::of("[a-z0-9.]{1,40}:[0-9]{1,5}"))
            .prop_map(|(leader, address)| ReplicaMessage::Leader { leader, address }),
        1 => (any::<u64>(), number()).prop_map(|(nonce, session)| ReplicaMessage::Opened { nonce, session }),
        5 => (number(), number(), outcome)
            .prop_map(|(session, sequence, outcome)| ReplicaMessage::Reply { session, sequence, outcome }),
        1 => "\\PC{0,60}".prop_map(ReplicaMessage::Status),
    ]
}

fn framed<M: Wire>(message: &M) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(message, &mut bytes).expect("short");
    bytes
}

fn decode(bytes: &[u8]) -> Result<Option<Frame>, BadFrame> {
    let mut decoder = Decoder::new(MAX_FRAME_BYTES);
    decoder.buffer().extend_from_slice(bytes);
    decoder.next_frame()
}

fn assert_round_trip<M: Wire + PartialEq + std::fmt::Debug>(message: &M) {
    let frame = decode(&framed(message)).expect("a frame").expect("the whole frame");
    assert_eq!(frame.kind, M::KIND);
    assert_eq!(&frame.message::<M>().expect("a message"), message);
}

/// No beginning of a frame is one, and each bit counts.
fn assert_damage_is_found(bytes: &[u8]) {
    for end in 0..bytes.len() {
        assert_eq!(decode(&bytes[..end]), Ok(None), "the first {end} bytes");
    }
    let mut damaged = bytes.to_vec();
    for bit in 0..8 * bytes.len() {
        damaged[bit / 8] ^= 1 << (bit % 8);
        let refusal = decode(&damaged).expect_err("a bit was flipped");
        let expected = match bit / 8 {
            0..2 => BadFrame::Magic,
            2..HEADER_BYTES => BadFrame::HeaderChecksum,
            _ => BadFrame::BodyChecksum,
        };
        assert_eq!(refusal, expected, "bit {bit}");
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn peer_messages_come_back_as_they_were(message in peer_message()) {
        assert_round_trip(&message);
    }

    #[test]
    fn client_messages_come_back_as_they_were(message in client_message()) {
        assert_round_trip(&message);
    }

    #[test]
    fn replica_messages_come_back_as_they_were(message in replica_message()) {
        assert_round_trip(&message);
    }

    /// Bodies whose checksums are right but whose contents are anybody's: what decodes encodes to the same bytes again.
    #[test]
    fn what_is_taken_is_what_an_encoder_writes(body in vec(any::<u8>(), 0..60)) {
        assert_canonical::<PeerMessage>(&body);
        assert_canonical::<ClientMessage>(&body);
        assert_canonical::<ReplicaMessage>(&body);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// However the network cuts the bytes, with a seal or without, the same messages arrive.
    #[test]
    fn a_stream_may_be_cut_anywhere(
        messages in vec(client_message(), 1..20),
        cuts in vec(1..5_000_usize, 1..8),
        sealed in any::<bool>(),
    ) {
        let seal = || sealed.then(|| connection_keys().from_initiator());
        let mut packer = Packer::new(seal());
        let mut bytes = Vec::new();
        for (position, message) in messages.iter().enumerate() {
            packer.push(message).expect("short");
            if position % 7 == 3 {
                packer.drain_into(&mut bytes);
            }
        }
        packer.drain_into(&mut bytes);
        prop_assert!(packer.is_empty());

        let mut decoder = Decoder::new(MAX_CLIENT_FRAME_BYTES);
        seal().into_iter().for_each(|seal| decoder.set_seal(seal));
        let mut arrived = Vec::new();
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            decoder.buffer().extend_from_slice(now);
            while let Some(frame) = decoder.next_frame().expect("a frame") {
                arrived.extend(frame.messages::<ClientMessage>().map(|message| message.expect("a message")));
            }
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(arrived, messages);
    }
}

fn connection_keys() -> ConnectionKeys {
    SharedKey::from_bytes(&[9; 40]).expect("long enough").connection(b"a", b"b")
}

fn frame_of(kind: Kind, body: &[u8]) -> Frame {
    Frame { kind, body: Bytes::copy_from_slice(body) }
}

fn assert_canonical<M: Wire + std::fmt::Debug>(body: &[u8]) {
    let frame = frame_of(M::KIND, body);
    let mut again = Vec::new();
    for message in frame.messages::<M>() {
        let Ok(message) = message else { return };
        message.write(&mut again);
    }
    assert_eq!(again, body);
}

#[test]
fn damage_is_found() {
    let vote = Vote { instance: 7, ballot: 300, value: Bytes::from_static(b"value") };
    assert_damage_is_found(&framed(&PeerMessage::Core(Message::Promise(9, 5, vec![vote]))));
    assert_damage_is_found(&framed(&PeerMessage::Core(Message::Alive(1, 1 << 40))));
    assert_damage_is_found(&framed(&ClientMessage::Request {
        session: 1,
        sequence: 2,
        nonce: 3,
        body: Bytes::from_static(b"body"),
    }));
    assert_damage_is_found(&framed(&ReplicaMessage::Leader { leader: Some(2), address: Some("host:1".into()) }));
}

#[test]
fn a_sealed_stream_refuses_what_was_not_sealed_for_it() {
    let seal = || Some(connection_keys().from_initiator());
    let sealed = |seal| {
        let (mut packer, mut bytes) = (Packer::new(seal), Vec::new());
        packer.push(&ClientMessage::Open(1)).expect("short");
        packer.drain_into(&mut bytes);
        bytes
    };
    let decode = |bytes: &[u8]| {
        let mut decoder = Decoder::new(MAX_CLIENT_FRAME_BYTES);
        seal().into_iter().for_each(|seal| decoder.set_seal(seal));
        decoder.buffer().extend_from_slice(bytes);
        let first = decoder.next_frame();
        (first, decoder.next_frame())
    };
    let good = sealed(seal());
    assert!(matches!(decode(&good), (Ok(Some(_)), Ok(None))));
    assert!(matches!(decode(&[good.clone(), good.clone()].concat()), (Ok(Some(_)), Err(BadFrame::Forged))), "a replay");
    assert!(
        matches!(decode(&sealed(Some(connection_keys().from_acceptor()))), (Err(BadFrame::Forged), _)),
        "a reflection"
    );
    assert!(matches!(decode(&[sealed(None), vec![0; TAG_BYTES]].concat()), (Err(BadFrame::Forged), _)), "an injection");
}

#[test]
fn numbers_from_two_to_the_62_on_are_refused() {
    for instance in [NUMBER_LIMIT, u64::MAX] {
        let refusal = |message: Message| {
            decode(&framed(&PeerMessage::Core(message))).expect("a frame").expect("whole").message::<PeerMessage>()
        };
        assert_eq!(refusal(Message::Accept(1, instance)), Err(BadFrame::NumberTooLarge(instance)));
        assert_eq!(refusal(Message::Alive(instance, 1)), Err(BadFrame::NumberTooLarge(instance)));
        let decision = Decision { instance, value: Bytes::new() };
        assert_eq!(refusal(Message::Learned(vec![decision])), Err(BadFrame::NumberTooLarge(instance)));
    }
}

#[test]
fn numbers_have_one_encoding() {
    let read = |bytes: &[u8]| Reader::new(&Bytes::copy_from_slice(bytes)).number();
    assert_eq!(read(&[0x00]), Ok(0));
    assert_eq!(read(&[0x80, 0x01]), Ok(128));
    assert_eq!(read(&[0x80, 0x00]), Err(BadFrame::BadNumber));
    assert_eq!(read(&[0xff; 10]), Err(BadFrame::BadNumber));
    assert_eq!(read(&[0x80; 9]), Err(BadFrame::CutOff));
    let mut greatest = [0xff; 10];
    greatest[9] = 1;
    assert_eq!(read(&greatest), Err(BadFrame::NumberTooLarge(u64::MAX)));
}

/// Lists and strings that claim more than there is: refused before anything is allocated for them.
#[test]
fn announced_lengths_are_compared_with_what_is_there() {
    let mut promise = Vec::new();
    PeerMessage::Core(Message::Promise(1, 1, Vec::new())).write(&mut promise);
    promise.pop();
    put_number(&mut promise, NUMBER_LIMIT - 1);
    assert_eq!(frame_of(Kind::Peer, &promise).message::<PeerMessage>(), Err(BadFrame::CutOff));

    let mut request = Vec::new();
    ClientMessage::Request { session: 1, sequence: 1, nonce: 3, body: Bytes::new() }.write(&mut request);
    request.pop();
    put_number(&mut request, 1 << 40);
    assert_eq!(frame_of(Kind::Client, &request).message::<ClientMessage>(), Err(BadFrame::CutOff));
}

#[test]
fn what_has_no_place_is_refused_by_name() {
    let open = framed(&ClientMessage::Open(1));
    let frame = decode(&open).expect("a frame").expect("whole");
    assert_eq!(frame.message::<PeerMessage>(), Err(BadFrame::UnexpectedKind(Kind::Client)));
    assert_eq!(frame_of(Kind::Client, &[]).message::<ClientMessage>(), Err(BadFrame::Empty));
    assert_eq!(frame_of(Kind::Client, &[3, 3]).message::<ClientMessage>(), Err(BadFrame::CutOff));
    assert_eq!(frame_of(Kind::Client, &[99]).message::<ClientMessage>(), Err(BadFrame::UnknownMessage(99)));
    assert_eq!(frame_of(Kind::Replica, &[99]).message::<ReplicaMessage>(), Err(BadFrame::UnknownMessage(99)));
    assert_eq!(frame_of(Kind::Peer, &[0]).message::<PeerMessage>(), Err(BadFrame::UnknownMessage(0)));
    let outside = PeerMessage::Piece { at: 1, offset: 2, total: 3, bytes: Bytes::from_static(b"xx") };
    assert_eq!(
        decode(&framed(&outside)).expect("a frame").expect("whole").message::<PeerMessage>(),
        Err(BadFrame::BadPiece)
    );

    let reheadered = |position: usize, byte: u8| {
        let mut bytes = open.clone();
        bytes[position] = byte;
        let checksum = crc32c::crc32c(&bytes[..12]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        decode(&bytes)
    };
    assert_eq!(reheadered(2, 77), Err(BadFrame::Version(77)));
    assert_eq!(reheadered(3, 77), Err(BadFrame::UnknownKind(77)));
    assert_eq!(reheadered(7, 0xff), Err(BadFrame::TooLong { bytes: 0xff00_0009, limit: MAX_FRAME_BYTES }));
}

#[test]
fn a_snapshot_that_is_not_cut_begins_none() {
    let whole = PeerMessage::Core(Message::Snapshot(5, Image::from(b"state".as_slice())));
    let piece = PeerMessage::Piece { at: 5, offset: 0, total: 5, bytes: Bytes::new() };
    assert_eq!(decode(&framed(&whole)).expect("a frame").expect("whole").message(), Ok(piece));
}

#[test]
fn what_no_frame_holds_is_not_sent() {
    let huge =
        ClientMessage::Request { session: 1, sequence: 1, nonce: 3, body: Bytes::from(vec![0; MAX_FRAME_BYTES]) };
    let mut out = b"before".to_vec();
    assert_eq!(encode(&huge, &mut out), Err(TooLong { bytes: MAX_FRAME_BYTES + 15 }));
    assert_eq!(out, b"before");
    let mut packer = Packer::new(None);
    assert_eq!(packer.push(&huge), Err(TooLong { bytes: MAX_FRAME_BYTES + 15 }));
    assert!(packer.is_empty());
    packer.push(&ClientMessage::Open(1)).expect("short");
    assert!(packer.push(&huge).is_err());
    packer.drain_into(&mut out);
    assert_eq!(out[6..], framed(&ClientMessage::Open(1)));
}

/// Gives a frame the length and the checksums of its body.
fn right_checksums(bytes: &mut [u8]) {
    let (header, body) = bytes.split_at_mut(HEADER_BYTES);
    header[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
    let checksum = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&checksum.to_le_bytes());
}

/// Bytes of every kind of nonsense: random ones, frames with some bytes changed, and bodies under right checksums. Decoding must
/// end by itself, and its buffer must not grow beyond what came.
#[test]
fn three_hundred_thousand_pieces_of_nonsense_do_no_harm() {
    let mut randomness = env::Randomness::from_seed(4);
    let templates = [
        framed(&PeerMessage::Core(Message::Promise(
            9,
            5,
            vec![Vote { instance: 7, ballot: 3, value: Bytes::from_static(b"v") }],
        ))),
        framed(&PeerMessage::Core(Message::Learned(vec![Decision { instance: 7, value: Bytes::from_static(b"v") }]))),
        framed(&ClientMessage::Request { session: 1, sequence: 2, nonce: 3, body: Bytes::from_static(b"body") }),
        framed(&ReplicaMessage::Reply {
            session: 1,
            sequence: 2,
            outcome: Outcome::Executed(3, Bytes::from_static(b"a")),
        }),
    ];
    let (mut taken, mut refused) = (0, 0);
    for round in 0..300_000 {
        let mut bytes = templates[round % templates.len()].clone();
        let changes = randomness.in_range(1..4);
        for _ in 0..changes {
            let position = randomness.in_range(0..bytes.len() as u64) as usize;
            bytes[position] = randomness.next_u64() as u8;
        }
        match round % 3 {
            0 => randomness.fill(&mut bytes),
            // The contents are wrong, the checksums right.
            1 => {
                bytes[..4].copy_from_slice(&templates[round % templates.len()][..4]);
                right_checksums(&mut bytes);
            }
            _ => {}
        }
        let mut decoder = Decoder::new(MAX_FRAME_BYTES);
        decoder.buffer().extend_from_slice(&bytes);
        match decoder.next_frame() {
            Ok(Some(frame)) => {
                let messages = frame.messages::<PeerMessage>().filter(Result::is_ok).count()
                    + frame.messages::<ClientMessage>().filter(Result::is_ok).count()
                    + frame.messages::<ReplicaMessage>().filter(Result::is_ok).count();
                if messages > 0 { taken += 1 } else { refused += 1 }
            }
            Ok(None) => {}
            Err(_) => refused += 1,
        }
        assert!(decoder.capacity() <= READ_BYTES);
    }
    assert!(taken > 10_000 && refused > 100_000, "{taken} taken, {refused} refused: the nonsense is not varied enough");
}
