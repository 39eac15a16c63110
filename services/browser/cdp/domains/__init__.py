"""The tables: one module per CDP domain. Parameters in full; results and events only as far as they are read."""
