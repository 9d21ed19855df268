"""Expectation-maximisation over activation patterns, beneath ``GraphDictMarginal``."""
