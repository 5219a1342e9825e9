"""What can be known of a text by itself: its specifics, its secrets, its tokens."""
