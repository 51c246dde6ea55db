"""Those who do the tasks."""
