"""How much of what matters survives: Q1 to Q6 and the made sessions, scored by code of its own."""
