"""The command ``attention-book``: train, translate, evaluate, inspect, export, data."""
