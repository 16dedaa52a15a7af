"""Programs whose lines run on threads and in processes, as programs.py: locks, pools, children,
servers."""

import concurrent.futures
import http.server
import json
import multiprocessing
import os
import queue
import subprocess
import threading
import time
import urllib.request

from measuring import child_begins, clocks, going, line, measured, run, tell


def locks():
    shared = threading.Lock()

    def use(n):
        for _ in going():
            with line("waits"):
                shared.acquire()  # @waits
            with line("holds"):
                time.sleep(0.003)  # @holds
            with line("counts"):
                sum(i for i in range(n))  # @counts
            shared.release()
            with line("works"):
                sorted(range(n), key=str)  # @works

    both = [threading.Thread(target=use, args=(n,)) for n in (4000, 9000)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def tasks():
    """Short ones and long ones."""
    def short(n):
        with line("short"):
            return sum(i * i for i in range(n))  # @short

    def long(seconds):
        with line("long"):
            time.sleep(seconds)  # @long

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for _ in going():
            futures = [pool.submit(long, 0.06)] + [pool.submit(short, 60000) for _ in range(8)]
            with line("results"):
                for future in futures:  # @results
                    future.result()  # @results


def puts():
    items = queue.Queue(1)

    def consume():
        while (item := items.get()) is not None:
            with line("uses"):
                item.sort(key=str)  # @uses
            with line("rests"):
                time.sleep(0.002)  # @rests

    thread = threading.Thread(target=consume)
    thread.start()
    for _ in going():
        with line("makes"):
            item = [i * 5 % 91 for i in range(4000)]  # @makes
        with line("puts"):
            items.put(item)  # @puts
    items.put(None)
    thread.join()


def conditions():
    turn, whose = threading.Condition(), [0]

    def play(me):
        for _ in going():
            with turn:
                with line("awaits"):
                    turn.wait_for(lambda: whose[0] == me, timeout=0.5)  # @awaits
                with line("plays"):
                    sum(i * i for i in range(6000 + 3000 * me))  # @plays
                whose[0] = 1 - me
                turn.notify_all()

    both = [threading.Thread(target=play, args=(n,)) for n in (0, 1)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def short_threads():
    def work():
        with line("works"):
            sum(i * i for i in range(30000))  # @works

    for _ in going():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        with line("joins"):
            for thread in threads:  # @joins
                thread.join()  # @joins


def web():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with line("answers"):
                body = json.dumps(list(range(6000))).encode()  # @answers
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    listening = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{listening.server_port}"
    for _ in going():
        with line("asks"):
            with urllib.request.urlopen(url) as reply:  # @asks
                body = reply.read()  # @asks
        with line("parses"):
            json.loads(body * 1)  # @parses
    listening.shutdown()
    thread.join()


def remote():
    import grpc

    def handle(request, context):
        with line("handles"):
            sum(i * i for i in range(9000))  # @handles
        return request

    method = grpc.unary_unary_rpc_method_handler(handle)
    serving = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    serving.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("lines.Lines", {"Ask": method}),))
    port = serving.add_insecure_port("127.0.0.1:0")
    serving.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        ask = channel.unary_unary("/lines.Lines/Ask")
        for _ in going():
            with line("asks"):
                ask(b"x")  # @asks
            with line("works"):
                sorted(range(4000), key=str)  # @works
    serving.stop(None).wait()


def task(n):
    with line("task"):
        total = sum(i * i for i in range(n))  # @task
    with line("rests"):
        time.sleep(0.004)  # @rests
    return total


def pool_of(method):
    with multiprocessing.get_context(method).Pool(2, child_begins) as pool:
        for _ in going():
            with line("maps"):
                pool.map(task, [30000] * 6)  # @maps
            with line("between"):
                sorted(range(20000), key=str)  # @between
        pool.close()
        pool.join()


def pool_spawn():
    pool_of("spawn")


def pool_fork():
    pool_of("fork")


def executor():
    with concurrent.futures.ProcessPoolExecutor(2, initializer=child_begins) as pool:
        for _ in going():
            futures = [pool.submit(task, 20000) for _ in range(6)]
            with line("results"):
                for future in futures:  # @results
                    future.result()  # @results


def forks():
    for _ in range(5):
        child = os.fork()
        if child == 0:
            clocks.clear()
            measured.clear()
            with line("child"):
                sum(i * i for i in range(2_000_000))  # @child
            tell()
            os._exit(0)
        with line("waits"):
            os.waitpid(child, 0)  # @waits
        with line("between"):
            sum(i % 7 for i in range(1_000_000))  # @between


def commands():
    for _ in going():
        with line("runs"):
            text = subprocess.check_output(["sh", "-c", "sleep 0.02; seq 20000"])  # @runs
        with line("parses"):
            numbers = [int(word) for word in text.split()]  # @parses
        with subprocess.Popen(["sort", "-n"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            with line("talks"):
                child.communicate(text)  # @talks
        with line("sorts"):
            sorted(numbers, key=str)  # @sorts


def peer(pipe):
    child_begins()
    while (n := pipe.recv()) is not None:
        with line("answers"):
            answer = [i * i for i in range(n)]  # @answers
        pipe.send(answer)


def pipes():
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=peer, args=(theirs,))
    process.start()
    for _ in going():
        ours.send(9000)
        with line("receives"):
            answer = ours.recv()  # @receives
        with line("uses"):
            answer.sort(key=str)  # @uses
    ours.send(None)
    process.join()


if __name__ == "__main__":
    run(globals())
