"""The book as an EPUB in each language, from the built site."""
