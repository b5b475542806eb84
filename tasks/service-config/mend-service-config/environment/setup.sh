# The agent owns the service's folder; the service itself is the platform's.
chown -R 1000:1000 /app
