"""The libraries that people train with today, one small file each. Each runs as a process of its own,
`python3 -m peers.NAME cpu|cuda`, is started once and kept warm; protocol.py says how it is spoken to."""
