"""Settings: from the environment, the user's file and the project's, checked, each with its source.

`Settings.load` reads them all and builds the user's own policies, `checked` says what a value may be, `places` where
they lie.
"""
