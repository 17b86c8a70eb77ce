//! Where a replica stands: the one row that every batch of applied transactions writes, and every snapshot reads.

use crate::codes::{position, put_position};
use crate::options::Limits;
use crate::payload;
use codec::put_number;
use model::{Decoder, Malformed};
use total::Position;

/// Where a replica stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Root {
    /// Which of the node's states this is: each one that was fetched has the next number. The names of its tables have it.
    pub generation: u64,
    /// The last place of the order that was applied; `None`: nothing was. Orders may count from zero.
    pub position: Option<Position>,
    /// Transactions that were certified up to there, whether they committed or not.
    pub place: u64,
    /// The number that the next table gets.
    pub next_table: u32,
    /// Place up to which the window has been trimmed: who has read before it cannot be certified.
    pub floor: Position,
    /// Version and limits that the first life of all has brought: others must have the same. `None` before that.
    pub agreed: Option<(u64, Limits)>,
}

impl Root {
    /// The last place that was applied, as snapshots are compared with it: nobody writes at the first place of an order.
    pub fn base(&self) -> Position {
        self.position.unwrap_or_default()
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        put_number(&mut out, self.generation);
        self.encode_shared(&mut out);
        out
    }

    /// All but the generation: what every node has alike.
    pub fn encode_shared(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.position.is_some()));
        self.position.inspect(|at| put_position(out, *at));
        put_number(out, self.place);
        put_number(out, self.next_table.into());
        put_position(out, self.floor);
        out.push(u8::from(self.agreed.is_some()));
        if let Some((version, limits)) = self.agreed {
            put_number(out, version);
            payload::put_limits(out, limits);
        }
    }

    pub fn decode(row: &[u8]) -> Result<Root, Malformed> {
        let mut from = Decoder::new(row);
        let generation = from.number()?;
        let root = Root::decode_shared(generation, &mut from)?;
        from.end()?;
        Ok(root)
    }

    pub fn decode_shared(generation: u64, from: &mut Decoder<'_>) -> Result<Root, Malformed> {
        let at = match from.u8()? {
            0 => None,
            1 => Some(position(from)?),
            _ => return Err(Malformed),
        };
        let place = from.number()?;
        let next_table = u32::try_from(from.number()?).map_err(|_| Malformed)?;
        let floor = position(from)?;
        let agreed = match from.u8()? {
            0 => None,
            1 => Some((from.number()?, payload::limits(from)?)),
            _ => return Err(Malformed),
        };
        Ok(Root { generation, position: at, place, next_table, floor, agreed })
    }
}
