"""The exercises themselves, a module for each subject; `checking.SUBJECTS` has them in order."""
