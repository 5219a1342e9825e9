"""What happens at each event of a Claude Code that Palimpsest is attached to."""
