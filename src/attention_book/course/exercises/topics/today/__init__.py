"""Exercises on attention in today's models."""
