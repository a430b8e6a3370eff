"""What a line of ``attention-book train`` asks for, and what it shows while it trains."""

__all__ = ()
