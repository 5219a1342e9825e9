"""For authors of backends: what a store must do, as tests, and a simulated disk. The tests need pytest."""
