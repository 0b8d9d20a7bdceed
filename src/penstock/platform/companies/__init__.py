"""Companies and organizations: one record type, an organization has a parent."""
