//! COPY: rows from and to text, CSV and binary.
