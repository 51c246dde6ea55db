"""breakfall breaks an agent's tools on purpose and measures how the agent falls."""

__version__ = "0.1.0"
