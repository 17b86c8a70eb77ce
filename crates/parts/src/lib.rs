//! Seriatim: parts.
