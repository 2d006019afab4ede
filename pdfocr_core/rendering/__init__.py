"""Untrusted bytes become page pictures and text in child processes."""
