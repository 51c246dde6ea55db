"""The demo of `breakfall demo fabrication`: an agent that says more than it did."""
