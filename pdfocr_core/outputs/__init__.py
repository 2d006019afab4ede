"""What people and programs read: Dolma, Markdown, status rows, the report."""
