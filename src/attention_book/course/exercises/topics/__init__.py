"""The exercises of the chapters, one module a topic."""
