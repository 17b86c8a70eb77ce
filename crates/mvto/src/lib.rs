//! Seriatim: mvto.
