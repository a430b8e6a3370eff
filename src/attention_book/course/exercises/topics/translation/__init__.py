"""Exercises on translation with recurrent models: batches, losses, alignment, beam, BLEU."""
