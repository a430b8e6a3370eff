"""The chapters as slides: a reveal.js deck of each, in each language, from the built site."""
