chown -R root:root /opt/queue
chmod -R a+rX,go-w /opt/queue
chown -R 1000:1000 /app
rm -rf /srv/nats
mkdir -m 700 /srv/nats
setsid -f nats-server -js -sd /srv/nats -a 127.0.0.1 -p 4222 </dev/null >/dev/null 2>&1
python3 -I -c '
import json, sys, time
sys.path.insert(0, "/opt/queue")
sys.dont_write_bytecode = True
from jetstream import Broker, BrokerError
for _ in range(500):
    try:
        with Broker(4222) as broker:
            broker.api("INFO")
        break
    except (OSError, BrokerError):
        time.sleep(0.02)
given = json.load(open("/opt/queue/given.json"))
with Broker(4222) as broker:
    for name, subjects in given["streams"].items():
        broker.api("STREAM.CREATE." + name, {"name": name, "subjects": subjects})
    for subject, text in given["messages"]:
        broker.publish(subject, text.encode())
'
