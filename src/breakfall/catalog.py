"""Built-in worlds, agents and profiles by name, loaded when asked for."""
