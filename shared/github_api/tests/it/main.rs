//! How GitHub is read, against a server on this machine that says what each test needs.
