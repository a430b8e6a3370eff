"""The laws of the steps: plain formulas, torch, and what each usual slip makes of an input."""
