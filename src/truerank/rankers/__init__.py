"""Thin doors from weighted pairs to the libraries that train on them."""
