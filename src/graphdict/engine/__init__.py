"""Who passes over the samples and how fast: executors, backends, signals larger than memory."""
