"""Token counts, and the windows of models and hosts.

`count` counts exactly by a vocabulary, or by the nearest with a factor; `windows` says how many fit.
"""
