//! Seriatim: check.
