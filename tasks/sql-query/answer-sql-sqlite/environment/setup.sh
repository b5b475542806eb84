# Builds the visible database from the data beside it, then gives everything to the agent.
python3 /app/build_database.py /app/schema.sql /app/shop.db
rm /app/build_database.py
chown -R 1000:1000 /app
