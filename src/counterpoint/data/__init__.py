"""What a row is: columns, values, constraints, distances, and the known instances."""
