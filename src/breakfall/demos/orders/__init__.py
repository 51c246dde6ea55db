"""Two thousand orders against a real HTTP service behind a faulty network: who places each exactly once."""
