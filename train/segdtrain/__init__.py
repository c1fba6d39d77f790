"""Trains the feature model that is in segd's binary: see README.md beside this folder."""
