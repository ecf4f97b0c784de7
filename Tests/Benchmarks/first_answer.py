"""first_answer.c in Python: opens what an earlier run has cached, without a network, asks once, says the answer."""

import json
import sys

import kassa

with kassa.Client(storage=sys.argv[1]) as client, open(sys.argv[2], encoding="utf-8") as config:
    client.start.configure(json.load(config))
    access = client.has_access(sys.argv[3])
    print("y" if access else "n", flush=True)
sys.exit(not access)
