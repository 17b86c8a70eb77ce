//! What several tests of flows need.

use seriatim_vectors::flow::Ledger;

/// A ledger without a limit.
pub struct Boundless;

impl Ledger<String> for Boundless {
    fn hold(&self, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
