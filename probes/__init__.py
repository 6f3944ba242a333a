"""Clock, latency traces, the per-call log and its reader. Imports nothing else of ours."""
