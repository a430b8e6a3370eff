"""What the chapters use beyond the library: exercises, models, faults to find, Jupyter."""
