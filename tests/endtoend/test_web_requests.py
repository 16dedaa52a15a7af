"""Requests of uvicorn and of gRPC, on every loop and protocol that they have, beside what their
handlers and their clients measured (test_requests.py says how)."""

import http.client
import time

import pytest
from test_requests import ATTEMPTS, EACH, check, requests_of, serve

APP = """
import asyncio, contextlib
from fastapi import FastAPI, APIRouter
app, router = FastAPI(), APIRouter(prefix="/items")
@app.get("/predict")
async def predict():
    with Timed("GET /predict"): await asyncio.sleep(0.005)
    return {"a": 1}
@router.get("/{item}")
def item(item: int):
    with Timed("GET /items/{item}"): time.sleep(0.002)
    return item
app.include_router(router)
inner = FastAPI()
@inner.post("/x/{y}")
async def posted(y: str):
    with Timed("POST /below/x/{y}"): await asyncio.sleep(0)
app.mount("/below", inner)
"""

STARLETTE = """
import asyncio
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
async def predict(request):
    with Timed("GET /predict"): await asyncio.sleep(0.005)
    return PlainTextResponse("ok")
def item(request):
    with Timed("GET /items/{item}"): time.sleep(0.002)
    return PlainTextResponse(request.path_params["item"])
async def posted(request):
    with Timed("POST /below/x/{y}"): await asyncio.sleep(0)
    return PlainTextResponse("ok")
app = Starlette(routes=[
    Route("/predict", predict), Mount("/items", routes=[Route("/{item}", item)]),
    Mount("/below", routes=[Route("/x/{y}", posted, methods=["POST"])])])
"""

RUN = """
import socket, uvicorn
listener = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(app, log_level="error", loop=LOOP, http=PROTOCOL))
ready(listener.getsockname()[1])
def stop():
    sys.stdin.read()
    server.should_exit = True
threading.Thread(target=stop, daemon=True).start()
server.run(sockets=[listener])
finish()
"""


def ask(port, waited):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for i in range(EACH):
        method, path, name = [("GET", "/predict", "/predict"),
                              ("GET", f"/items/{i}", "/items/{item}"),
                              ("POST", f"/below/x/{i}", "/below/x/{y}")][i % 3]
        begin = time.perf_counter_ns()
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        waited.setdefault(f"{method} {name}", []).append(time.perf_counter_ns() - begin)
    connection.close()


def check_often(tmp_path, text, asks):
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        served = serve(folder, text, asks)
        if check(served):
            return served
    return pytest.fail("longer than their clients waited, in each of three runs")


@pytest.mark.parametrize("protocol", ["h11", "httptools"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("app", [APP, STARLETTE], ids=["fastapi", "starlette"])
def test_requests_of_uvicorn(tmp_path, app, loop, protocol):
    for module in ("fastapi", "uvicorn", "uvloop", "httptools"):
        pytest.importorskip(module)
    text = app + f"LOOP, PROTOCOL = {loop!r}, {protocol!r}\n" + RUN
    served = check_often(tmp_path, text, ask)
    row = requests_of(served.run)["GET /predict"]
    if loop == "asyncio":
        assert row["running_ns"] < row["waiting_ns"]
    else:
        assert row["running_ns"] == ""  # nothing tells when a task of uvloop's runs


STREAMS = """
import asyncio
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route
async def burn(request):
    async def parts():
        for _ in range(3):
            await asyncio.sleep(0.001)
            yield b"x"
    end = time.thread_time() + 0.02
    while time.thread_time() < end: pass
    handled.setdefault("burnt", []).append(20_000_000)
    return StreamingResponse(parts())
app = Starlette(routes=[Mount("/{tenant}", routes=[Route("/{what}", burn)])])
LOOP, PROTOCOL = "asyncio", "h11"
"""


def test_who_streams_from_another_task_ran_in_both(tmp_path):
    for module in ("starlette", "uvicorn"):
        pytest.importorskip(module)

    def read(port, waited):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for i in range(5):
            connection.request("GET", f"/t{i}/x")
            assert connection.getresponse().read() == b"xxx"
            waited.setdefault("GET /{tenant}/{what}", []).append(0)
        connection.close()

    served = serve(tmp_path, STREAMS + RUN, read)
    rows = requests_of(served.run)
    assert {name: row["count"] for name, row in rows.items()} == {
        name: len(times) for name, times in served.waited.items()}
    for row in rows.values():
        assert row["running_ns"] >= 20_000_000
        assert row["waiting_ns"] > 0


def test_a_request_whose_client_is_gone_ends_with_its_connection(tmp_path):
    for module in ("fastapi", "uvicorn", "uvloop", "httptools"):
        pytest.importorskip(module)

    def leave(port, waited):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/slow")
        connection.getresponse().read()  # it serves by now
        connection.request("GET", "/slow")
        time.sleep(0.05)
        connection.close()
        waited.setdefault("GET /slow", []).extend([0, 0])

    slow = """
from fastapi import FastAPI
import asyncio
app = FastAPI()
@app.get("/slow")
async def slow(): await asyncio.sleep(0.5)
LOOP, PROTOCOL = "asyncio", "httptools"
"""
    served = serve(tmp_path, slow + RUN, leave)
    row = requests_of(served.run)["GET /slow"]
    assert (row["count"], row["open"]) == (len(served.waited["GET /slow"]), 0)


GRPC = """
import grpc
from concurrent import futures
def behavior(name, length):
    def one(request, context):
        with Timed(f"/test.Service/{name}"): time.sleep(length)
        return request
    return grpc.unary_unary_rpc_method_handler(one)
def streams(request, context):
    with Timed("/test.Service/Stream"):
        for _ in range(3):
            time.sleep(0.001)
            yield request
def fails(request, context):
    with Timed("/test.Service/Fails"): context.abort(grpc.StatusCode.NOT_FOUND, "none")
server = grpc.server(futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test.Service", {
    "Fast": behavior("Fast", 0.001), "Slow": behavior("Slow", 0.005),
    "Stream": grpc.unary_stream_rpc_method_handler(streams),
    "Fails": grpc.unary_unary_rpc_method_handler(fails)})])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
ready(port)
sys.stdin.read()
server.stop(None).wait()
finish()
"""

GRPC_AIO = """
import asyncio, grpc, grpc.aio
def behavior(name, length):
    async def one(request, context):
        with Timed(f"/test.Service/{name}"): await asyncio.sleep(length)
        return request
    return grpc.unary_unary_rpc_method_handler(one)
async def streams(request, context):
    with Timed("/test.Service/Stream"):
        for _ in range(3):
            await asyncio.sleep(0.001)
            yield request
async def fails(request, context):
    with Timed("/test.Service/Fails"): await context.abort(grpc.StatusCode.NOT_FOUND, "none")
async def main():
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test.Service", {
        "Fast": behavior("Fast", 0.001), "Slow": behavior("Slow", 0.005),
        "Stream": grpc.unary_stream_rpc_method_handler(streams),
        "Fails": grpc.unary_unary_rpc_method_handler(fails)})])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    ready(port)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)
asyncio.run(main())
finish()
"""


def ask_grpc(port, waited):
    grpc = pytest.importorskip("grpc")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        for i in range(EACH):
            name = ["Fast", "Slow", "Stream", "Fails"][i % 4]
            path = f"/test.Service/{name}"
            begin = time.perf_counter_ns()
            if name == "Stream":
                assert len(list(channel.unary_stream(path)(b"x"))) == 3
            else:
                try:
                    channel.unary_unary(path)(b"x")
                except grpc.RpcError as error:
                    assert (name, error.code()) == ("Fails", grpc.StatusCode.NOT_FOUND)
            waited.setdefault(path, []).append(time.perf_counter_ns() - begin)


@pytest.mark.parametrize("text", [GRPC, GRPC_AIO], ids=["threads", "aio"])
def test_requests_of_grpc(tmp_path, text):
    pytest.importorskip("grpc")
    served = check_often(tmp_path, text, ask_grpc)
    slow = requests_of(served.run)["/test.Service/Slow"]
    assert slow["running_ns"] < slow["waiting_ns"]
