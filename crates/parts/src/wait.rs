//! Parking on an address.
