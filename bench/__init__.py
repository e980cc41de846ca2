"""Speed, memory and accuracy, against named peers in the same run: `make bench`."""
