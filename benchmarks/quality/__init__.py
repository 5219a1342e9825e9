"""Is a digest of use? Judges of what it says, by code of their own, and figures that move with it."""
