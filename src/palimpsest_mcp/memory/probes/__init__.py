"""Probes: questions that a context must still answer after a pass.

`questions` asks them of what was said, `answers` looks for the answers in what is left, `grade` compares.
"""
