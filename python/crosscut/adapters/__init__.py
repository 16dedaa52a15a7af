"""What Crosscut adds to the libraries that a recorded program imports."""
