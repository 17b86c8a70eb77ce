//! The engine of tests that hold for each.

/// An engine whose transactions stay open, and which SQL therefore runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Multi-version timestamp ordering.
    Mvto,
    /// Two-phase locking, in memory.
    Twopl,
    /// Rows in place with undo entries, and precision locking.
    Hyper,
}

impl Engine {
    /// Every engine. A new one is added here.
    pub const ALL: [Engine; 3] = [Engine::Mvto, Engine::Twopl, Engine::Hyper];

    /// Returns the engine of tests that name none: the one of the variable `ENGINE`, else `mvto`.
    ///
    /// # Panics
    /// The variable names no engine.
    pub fn of_tests() -> Engine {
        let Some(name) = std::env::var_os("ENGINE").filter(|name| !name.is_empty()) else { return Engine::Mvto };
        let known = Engine::ALL.into_iter().find(|engine| name == engine.name());
        known.unwrap_or_else(|| panic!("ENGINE={} is none of {:?}", name.display(), Engine::ALL.map(Engine::name)))
    }

    /// Returns the engine of tests that name none and need more than two-phase locking has: [`Engine::of_tests`], with `mvto` in
    /// the place of `twopl`, which has no versions, so that readers and writers wait for each other; nothing on a disk; no estimates
    /// for plans.
    pub fn of_tests_with_versions() -> Engine {
        match Engine::of_tests() {
            Engine::Twopl => Engine::Mvto,
            engine => engine,
        }
    }

    /// Returns its name, as options and transcripts call it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Mvto => "mvto",
            Engine::Twopl => "twopl",
            Engine::Hyper => "hyper",
        }
    }
}
