"""Coming in through a company's provider. Anyone may create a company, so its provider's word goes only so far."""
