"""Whatever stands between a connection and its handler, a request is one; and a server that nobody
asks waits for nobody."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from runs import CROSSCUT, PACKAGE, table
from test_requests import (
    ATTEMPTS,
    CLIENTS,
    EACH,
    HEAD,
    HTTP,
    SOCKETS,
    Served,
    ask_http,
    ask_line,
    check,
    serve,
)

ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(
    filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))}


def replaced(text, what, by):
    assert what in text
    return text.replace(what, by)


MADE = 'socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer)'
OWN_FINISH = replaced(SOCKETS, MADE, 'Server(("127.0.0.1", 0), None)').replace("server = ", """
class Server(socketserver.ThreadingTCPServer):
    def finish_request(self, request, address): Answer(request, address, self)
server = """, 1)
OWN_THREADS = replaced(SOCKETS, MADE, 'Server(("127.0.0.1", 0), Answer)').replace("server = ", """
class Server(socketserver.TCPServer):
    def process_request(self, *request):
        threading.Thread(target=self.handle, args=request).start()
    def handle(self, request, address):
        self.RequestHandlerClass(request, address, self)
        self.shutdown_request(request)
server = """, 1)
OF_A_FUNCTION = replaced(SOCKETS, "0), Answer)", "0), lambda *words: Answer(*words))")
HTTP_OF_A_PARTIAL = replaced(HTTP, "0), Handler)", "0), functools.partial(Handler))").replace(
    "from http.server", "import functools\nfrom http.server", 1)
# As where green threads come with a copy of the library.
HTTP_OF_A_COPY = replaced(HTTP, "from http.server import", """
import importlib.util
spec = importlib.util.find_spec("http.server")
copy = importlib.util.module_from_spec(spec)
sys.modules["copy_of_it"] = copy
spec.loader.exec_module(copy)
from copy_of_it import""")


@pytest.mark.parametrize(("text", "ask"), [
    (OWN_FINISH, ask_line("Answer")), (OWN_THREADS, ask_line("Answer")),
    (OF_A_FUNCTION, ask_line("Answer")), (HTTP_OF_A_PARTIAL, ask_http), (HTTP_OF_A_COPY, ask_http),
], ids=["finish_request", "process_request", "function", "partial", "copy"])
def test_what_stands_between_connection_and_handler_matters_not(tmp_path, text, ask):
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        if check(serve(folder, text, ask)):
            break
    else:
        pytest.fail("longer than their clients waited, in each of three runs")


FORKS = replaced(SOCKETS, "ThreadingTCPServer", "ForkingTCPServer")
DATAGRAMS = """
import socketserver
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        words, at = self.request
        at.sendto(words, self.client_address)
server = socketserver.UDPServer(("127.0.0.1", 0), Answer)
ready(server.server_address[1])
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown())).start()
server.serve_forever()
finish()
"""


def ask_by_datagram(port, waited):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
        asks.settimeout(60)
        asks.connect(("127.0.0.1", port))
        for _ in range(EACH):
            asks.send(b"?")
            assert asks.recv(10) == b"?"
            waited.setdefault("Answer", []).append(0)


@pytest.mark.parametrize(("text", "ask"), [
    (FORKS, ask_line("Answer")), (DATAGRAMS, ask_by_datagram)], ids=["forks", "datagrams"])
def test_each_process_and_each_datagram_is_one(tmp_path, text, ask):
    rows = table(serve(tmp_path, text, ask).run, "requests")
    assert {row["request"] for row in rows} == {"Answer"}
    assert sum(row["count"] for row in rows) == CLIENTS * EACH
    assert sum(row["open"] for row in rows) == 0


def serve_module(folder, version):
    """Records `python -m http.server` while clients ask it."""
    for name in ("predict", "items/7"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("ok")
    words = [CROSSCUT, "record", "-o", folder / "run", "--", sys.executable, "-m", "http.server",
             "--bind=127.0.0.1", f"--protocol={version}", f"--directory={folder}", "0"]
    with subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        port = int(re.search(r"port (\d+)", server.stdout.readline())[1])
        waited, begin = {}, time.perf_counter_ns()
        ask_http(port, waited)
        wall = time.perf_counter_ns() - begin
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=120) == 0
    return Served(folder / "run", {name: [0] * len(times) for name, times in waited.items()},
                  waited, wall)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="it has no --protocol")
@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_a_module_that_is_run_has_handlers_of_its_own(tmp_path, version):
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        if check(serve_module(folder, version)):
            break
    else:
        pytest.fail("longer than their clients waited, in each of three runs")


UNTIL_INPUT_ENDS = "threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()))"
WINDOWS = replaced(HTTP, UNTIL_INPUT_ENDS, """
import crosscut
def control():
    for line in sys.stdin:
        crosscut.start(sys.argv[1]) if line == "start\\n" else crosscut.stop()
        print("done", flush=True)
    server.shutdown()
threading.Thread(target=control)""")


def test_a_connection_that_is_there_as_a_window_begins_is_followed(tmp_path):
    (tmp_path / "server.py").write_text(HEAD + WINDOWS)
    with subprocess.Popen([sys.executable, tmp_path / "server.py", tmp_path / "run"], text=True,
                          env=ENVIRONMENT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as server:
        connection = http.client.HTTPConnection("127.0.0.1", json.loads(server.stdout.readline()))

        def ask():
            connection.request("GET", "/predict")
            assert connection.getresponse().read() == b"ok"

        def tell(what):
            print(what, file=server.stdin, flush=True)
            assert server.stdout.readline() == "done\n"

        ask()
        for _ in range(2):
            tell("start")
            for _ in range(3):
                ask()
            tell("stop")
        connection.close()
        server.stdin.close()
        server.stdout.read()
        assert server.wait(timeout=120) == 0
    row, = table(tmp_path / "run", "requests")
    assert (row["request"], row["count"]) == ("GET /predict", 6)


# They say when they listen: what comes before takes as long as it takes.
LISTENS = """
import os, socket, sys
plain = socket.socket.listen
def listen(self, *backlog):
    plain(self, *backlog)
    print(os.getpid(), flush=True)
socket.socket.listen = listen
"""

IDLE = {
    "http.server": "import runpy\nsys.argv = ['', '--bind=127.0.0.1', '0']\n"
                   "runpy.run_module('http.server', run_name='__main__', alter_sys=True)\n",
    "socketserver": "import socketserver\n"
                    "socketserver.TCPServer(('127.0.0.1', 0), None).serve_forever()\n",
    "asyncio": "import asyncio\nasync def main():\n"
               "    server = await asyncio.start_server(print, '127.0.0.1', 0)\n"
               "    await server.serve_forever()\nasyncio.run(main())\n",
    "accept": "import socket\nsocket.create_server(('127.0.0.1', 0)).accept()\n",
    "listener": "from multiprocessing.connection import Listener\nListener().accept()\n",
}


# Started by who does nothing itself: a shell, a library that looks whether it has ended.
@pytest.mark.parametrize("by", [[], ["sh", "-c", '"$@"; exit $?', "sh"],
                                [sys.executable, "-c", "import subprocess, sys\n"
                                 "sys.exit(subprocess.run(sys.argv[1:]).returncode)"]],
                         ids=["record", "shell", "python"])
@pytest.mark.parametrize("server", IDLE)
def test_a_server_that_nobody_asks_waits_for_no_process(tmp_path, server, by):
    (tmp_path / "server.py").write_text(LISTENS + IDLE[server])
    with subprocess.Popen([CROSSCUT, "record", "-o", tmp_path / "run", "--", *by, sys.executable,
                           tmp_path / "server.py"], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorded:
        pid = int(recorded.stdout.readline())
        time.sleep(2)
        os.kill(pid, signal.SIGTERM)
        recorded.stdout.read()
        recorded.wait(timeout=120)
    run = tmp_path / "run"
    process, = [row["process"] for row in table(run, "processes") if row["pid"] == pid]
    causes = {row["cause"]: row["ns"] for row in table(run, "step_causes")
              if row["process"] == process}
    assert causes["waiting"] > 2 * causes.get("other-process", 0), causes
    if by[:1] != [sys.executable]:  # else who waits for it speaks
        assert table(run, "verdict")[0]["cause"] != "other-process"
