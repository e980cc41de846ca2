"""Experiments on generated clicks, where the truth is known."""
