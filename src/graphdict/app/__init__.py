"""Everything around the library: files, commands and experiments."""
