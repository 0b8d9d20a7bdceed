"""Projects: where an organization's workflows live. (Document 3's project metadata are other records.)"""
