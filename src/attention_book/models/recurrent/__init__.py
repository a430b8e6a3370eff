"""Recurrent encoder-decoders (GRU, RNN, seq2seq), one paper's decoder to a module."""
