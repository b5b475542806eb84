# The desk's files and data are root's; the agent reaches them through the port alone.
chown -R root:root /srv/desk
chmod 700 /srv/desk
chown 1000:1000 /app
chown root:root /app/API.md /app/POLICY.md
chmod 444 /app/API.md /app/POLICY.md
rm -f /srv/desk/desk.db
setsid -f python3 -I /srv/desk/server.py </dev/null >/dev/null 2>&1
python3 -I -c '
import socket, time
for _ in range(1000):
    try:
        socket.create_connection(("127.0.0.1", 7172), 1).close()
        break
    except OSError:
        time.sleep(0.02)
else:
    raise SystemExit("the desk does not answer")
'
