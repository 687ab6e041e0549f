//! Packets of Source RCON: a length, an id, a type, and a text that ends with two zero bytes.

use crate::LONGEST_RESPONSE;

/// The least and the greatest length of a packet. Source and Minecraft divide a response; some servers send all of it in one.
const SHORTEST_PACKET: usize = 10;
const LONGEST_PACKET: usize = LONGEST_RESPONSE + SHORTEST_PACKET;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub id: i32,
    pub kind: i32,
    /// Without the two zero bytes.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a packet has the length {0}")]
    Length(i32),
    #[error("a packet has the id {0}, which was not asked for")]
    Id(i32),
    #[error("the response is longer than {} MiB", crate::LONGEST_RESPONSE / 1024 / 1024)]
    TooLong,
}

impl Packet {
    /// The bytes on the wire. A text is at most [`crate::LONGEST`] bytes, so that its length fits.
    pub fn encode(id: i32, kind: i32, text: &str) -> Vec<u8> {
        let length = i32::try_from(text.len() + SHORTEST_PACKET).unwrap_or(i32::MAX);
        let head = [length, id, kind].map(i32::to_le_bytes).concat();
        [&head, text.as_bytes(), &[0, 0]].concat()
    }
}

/// Takes the first packet out of what was received; `None` if it is not complete yet.
pub fn decode(received: &mut Vec<u8>) -> Result<Option<Packet>, Malformed> {
    let number = |at: usize| -> Option<i32> { Some(i32::from_le_bytes(received.get(at..at + 4)?.try_into().ok()?)) };
    let Some(length) = number(0) else { return Ok(None) };
    let whole = usize::try_from(length).ok().filter(|length| (SHORTEST_PACKET..=LONGEST_PACKET).contains(length));
    let end = 4 + whole.ok_or(Malformed::Length(length))?;
    let (Some(id), Some(kind)) = (number(4), number(8)) else { return Ok(None) };
    // Some servers forget one of the two zero bytes.
    let Some(body) = received.get(12..end) else { return Ok(None) };
    let length = body.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let packet = Packet { id, kind, body: body[..length].to_vec() };
    received.drain(..end);
    Ok(Some(packet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_are_read_however_they_are_cut(
            packets in proptest::collection::vec((any::<i32>(), any::<i32>(), "[a-zä✓]{0,400}"), 1..5),
            cuts in proptest::collection::vec(1..40_usize, 1..20),
        ) {
            let bytes: Vec<u8> = packets.iter().flat_map(|(id, kind, text)| Packet::encode(*id, *kind, text)).collect();
            let (mut received, mut read, mut cuts, mut rest) = (Vec::new(), Vec::new(), cuts.iter().cycle(), bytes.as_slice());
            while !rest.is_empty() {
                let (part, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                received.extend_from_slice(part);
                rest = after;
                while let Some(Packet { id, kind, body }) = decode(&mut received).unwrap() {
                    read.push((id, kind, String::from_utf8(body).unwrap()));
                }
            }
            prop_assert_eq!(read, packets);
            prop_assert!(received.is_empty());
        }

        #[test]
        fn no_bytes_make_a_client_panic_or_wait_for_more_than_a_packet(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut received = bytes.clone();
            while let Ok(Some(packet)) = decode(&mut received) {
                prop_assert!(packet.body.len() <= LONGEST_PACKET);
            }
            let length = bytes.get(..4).map(|length| i32::from_le_bytes(length.try_into().unwrap()));
            let is_refused = decode(&mut bytes.clone()).is_err();
            prop_assert_eq!(is_refused, length.is_some_and(|length| !(10..=1_048_586).contains(&length)));
        }
    }
}
