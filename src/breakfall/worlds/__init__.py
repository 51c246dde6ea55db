"""Tools over state, tasks, and a checker."""
