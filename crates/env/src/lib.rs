//! Seriatim: env.
