//! The integration tests: one binary for the workspace.
