//! Lives of nodes by small numbers, which versions carry. The numbers are this node's own: payloads name lives in full.

use crate::turn::OriginId;
use parts::sync::{RwLock, RwLockReadGuard};
use std::sync::PoisonError;
use total::Origin;

/// The lives that this node has met.
#[derive(Debug)]
pub(crate) struct Origins(RwLock<Vec<Origin>>);

impl Origins {
    /// The own life is the first.
    pub fn new(own: Origin) -> Origins {
        Origins(RwLock::new(vec![own]))
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Origin>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The own life.
    pub fn own(&self) -> Origin {
        self.read()[0]
    }

    /// The life of a number.
    pub fn get(&self, id: OriginId) -> Origin {
        self.read()[id.0 as usize]
    }

    /// The number of a life. Lives are few: as many as nodes have started.
    pub fn intern(&self, origin: Origin) -> OriginId {
        let find = |lives: &[Origin]| lives.iter().position(|life| *life == origin).map(|at| OriginId(at as u32));
        if let Some(id) = find(&self.read()) {
            return id;
        }
        let mut lives = self.0.write().unwrap_or_else(PoisonError::into_inner);
        find(&lives).unwrap_or_else(|| {
            lives.push(origin);
            OriginId(lives.len() as u32 - 1)
        })
    }
}
