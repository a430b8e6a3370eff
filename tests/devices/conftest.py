"""What pretends a device changes torch for its whole process: pytest's own never imports it."""

collect_ignore = ["driven.py", "graphs.py", "pretended.py"]
