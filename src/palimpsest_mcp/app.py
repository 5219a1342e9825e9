"""Wires the parts."""
