"""What an expansion store holds: its statistics, as text, JSON and a page."""
