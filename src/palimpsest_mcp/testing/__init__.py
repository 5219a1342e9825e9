"""Contract suites and values for whoever writes a backend (docs/backends.md)."""
