"""The self-test of "What you need": shapes, layers, one recurrent step, a loss, a step downhill."""
