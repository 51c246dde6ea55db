"""Do: one call, one episode; the clock and the I/O live here."""
