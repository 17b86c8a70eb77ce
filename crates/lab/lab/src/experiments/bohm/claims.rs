//! What the paper claims of a figure, held against ours.

use super::PAPER_THREADS;

/// Claims of one figure. What the paper saw on many threads is not decided by a machine with few cores.
#[derive(Debug)]
pub(in crate::experiments) struct Claims {
    has_cores: bool,
    hold: Vec<&'static str>,
    fail: Vec<&'static str>,
    open: Vec<&'static str>,
}

impl Claims {
    /// None yet, on a machine with so many cores.
    pub fn new(cores: usize) -> Claims {
        Claims { has_cores: cores >= PAPER_THREADS as usize, hold: Vec::new(), fail: Vec::new(), open: Vec::new() }
    }

    /// A claim that any machine decides. Its words stand alone: the claim before it may be told elsewhere.
    pub fn anywhere(mut self, claim: &'static str, holds: bool) -> Claims {
        if holds { &mut self.hold } else { &mut self.fail }.push(claim);
        self
    }

    /// A claim about as many threads as the paper has.
    pub fn at_scale(mut self, claim: &'static str, holds: bool) -> Claims {
        if self.has_cores {
            return self.anywhere(claim, holds);
        }
        self.open.push(claim);
        self
    }

    /// What came out, with the figures that show it.
    pub fn outcome(self, shown: &str) -> String {
        let Claims { hold, fail, open, .. } = self;
        let verdict = match (hold.is_empty(), fail.is_empty(), open.is_empty()) {
            (_, true, true) => "reproduced",
            (true, true, false) => "not here",
            _ => "partly",
        };
        let needs = format!("needs {PAPER_THREADS} cores");
        let parts = [("holds", hold), ("fails", fail), (&needs[..], open)];
        let parts = parts.iter().filter(|(_, claims)| !claims.is_empty());
        let parts: Vec<String> = parts.map(|(name, claims)| format!("{name}: {}", claims.join(", "))).collect();
        format!("{verdict}: {}; {shown}", parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cores_decide_what_needs_few() {
        let claims = |cores, small, large| Claims::new(cores).anywhere("small", small).at_scale("large", large);
        assert_eq!(claims(40, true, true).outcome("1.5"), "reproduced: holds: small, large; 1.5");
        assert_eq!(claims(40, true, false).outcome("1.5"), "partly: holds: small; fails: large; 1.5");
        assert_eq!(claims(2, true, true).outcome("1.5"), "partly: holds: small; needs 40 cores: large; 1.5");
        assert_eq!(claims(2, false, true).outcome("1.5"), "partly: fails: small; needs 40 cores: large; 1.5");
        let alone = Claims::new(2).at_scale("large", true).outcome("1.5");
        assert_eq!(alone, "not here: needs 40 cores: large; 1.5");
    }
}
