"""FastAPI's first steps: a model behind an endpoint, with clients that ask it."""

import http.client
import json
import threading

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
rng = np.random.default_rng(0)
weights = [rng.standard_normal((512, 512)) / 512 for _ in range(4)]


class Item(BaseModel):
    values: list[float]


@app.get("/")
async def root():
    return {"message": "Hello World"}


@app.post("/predict")
def predict(item: Item):
    x = np.asarray(item.values)
    x = np.tile(x, (256, 1))
    for w in weights:
        x = np.tanh(x @ w)
    return {"score": float(x.mean())}


def ask(count):
    body = json.dumps({"values": [0.5] * 512})
    for i in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", 8123, timeout=60)
        if i % 10 == 0:
            connection.request("GET", "/")
        else:
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
        assert connection.getresponse().read()
        connection.close()


def drive(server):
    while not server.started:
        threading.Event().wait(0.05)
    clients = [threading.Thread(target=ask, args=(300,)) for _ in range(2)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    server.should_exit = True


if __name__ == "__main__":
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=8123, log_level="warning"))
    threading.Thread(target=drive, args=(server,)).start()
    server.run()
