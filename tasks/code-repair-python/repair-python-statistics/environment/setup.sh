# The agent owns the package it is to repair.
chown -R 1000:1000 /app
