//! Seriatim: model.
