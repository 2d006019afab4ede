"""A web viewer over a workspace: served on this machine, or written as files that need no server."""
