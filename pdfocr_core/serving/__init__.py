"""The inference server's life and the client that talks to it."""
