"""For tests of a deployment: a server that fails in every way in which inference servers fail. See `server` and `plan`."""
