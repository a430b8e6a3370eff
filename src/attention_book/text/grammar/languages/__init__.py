"""The grammar's three languages: how each one says the same meaning."""
