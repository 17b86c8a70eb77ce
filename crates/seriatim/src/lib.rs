//! Seriatim: seriatim.
