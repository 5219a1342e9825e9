"""Settings: from the environment, the user's file and the project's, checked, each with its source.

`settings.load` reads them all, `values` is their model, `policies` the user's own, `places` where they lie.
"""
