"""What runs in a reader's browser: live figures, the translator's engine, and how they are packed.

The modules of JavaScript stand in ``modules/``; :mod:`attention_book.live.bundle` makes of them
the classic scripts that a page loads.
"""
