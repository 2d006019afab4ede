"""From a model's raw answer to a page: small pure steps that a profile names in order."""
