"""Which proposed phrases are worth indexing: rules with verdicts, a policy file, and the step over a whole store."""
