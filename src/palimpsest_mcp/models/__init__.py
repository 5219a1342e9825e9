"""Frozen data that goes between rooms and onto disk: events, items, records, plans, reports."""
