"""Who belongs to a company, an organization or a project, with what role."""
