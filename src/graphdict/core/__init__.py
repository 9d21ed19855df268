"""What the paper says: graphs, operators, terms, the learning problem and how it is minimised."""
