"""Models as data: profiles, prompts, requests and the parsing of answers."""
