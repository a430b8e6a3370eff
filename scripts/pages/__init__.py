"""What the printed book, the EPUB and the slides share: pages of the built site, one language."""
