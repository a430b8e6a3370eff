"""Language models that are trained into folders: documents, packed rows, yardsticks."""
