mkdir -p /app
chown 1000:1000 /app
