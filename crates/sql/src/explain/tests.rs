//! Tests of the texts.
