"""Many episodes: matrix, run, score, compare, report."""
