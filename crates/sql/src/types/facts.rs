//! What is known of each type, as `pg_type` tells it.
