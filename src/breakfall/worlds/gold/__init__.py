"""What worlds share whose tasks are lists of gold calls on a database: copies on write, plans, judging."""
