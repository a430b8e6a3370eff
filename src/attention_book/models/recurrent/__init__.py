"""Recurrent encoder-decoders: without attention, Bahdanau's, Luong's, and two tutorials'."""
