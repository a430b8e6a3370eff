"""A trilingual grammar that writes parallel sentences with gold alignments."""
