//! Seriatim: lab.
