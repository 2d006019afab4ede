"""From what the user names to documents, groups and bytes."""
