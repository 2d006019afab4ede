"""The page scheduler: from groups to committed page records."""
