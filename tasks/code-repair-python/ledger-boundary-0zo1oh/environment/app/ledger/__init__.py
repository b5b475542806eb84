"""A small double-entry ledger. The rules are in README.md."""
