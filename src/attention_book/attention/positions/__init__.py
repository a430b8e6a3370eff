"""How order enters attention: one module for each scheme of positions."""
