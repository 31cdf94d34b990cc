"""Checks the wording of documents, help, and messages by vale (scripts/vale)."""
