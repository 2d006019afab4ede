"""Moving over from other programs without reading anything twice."""
