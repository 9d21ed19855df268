"""Files that fits leave behind: models, checkpoints, written whole or not at all."""
