"""Given an executor of a problem, iterate: BiPDS on any terms, MM where it applies; coding."""
