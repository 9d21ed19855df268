"""Measured signals, by graphdict and other methods in use: `graphdict experiment real`.

Three tasks: **signals** predicts held-out blocks of time (likelihood, hidden entries) and compares
edges with a map; **states** finds two known states, and should find nothing in a control;
**graphs** compares edges with networks that are known. Methods that scikit-learn lacks run in
environments of their own.
"""
