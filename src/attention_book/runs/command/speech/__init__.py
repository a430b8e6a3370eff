"""How the command speaks: in which language, in what form, and never raw to a terminal."""

__all__ = ()
