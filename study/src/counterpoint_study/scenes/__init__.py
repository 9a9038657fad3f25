"""What is explained: a black box and instances, as tables or as images and series."""
