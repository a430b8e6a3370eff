"""What the chapters use beyond the library: exercises, trained models, faults to find, Jupyter."""
