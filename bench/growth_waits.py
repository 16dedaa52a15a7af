"""More kinds for growth.py: who waits for whom, work that overlaps, many arguments. As
growth_inputs.py."""

from growth_inputs import T, end_of, head, kind, launch, main


@kind
def strangers_wait(n):
    """n / 32 processes without kinship that work in turn and wait for each other, 32 turns each."""
    yield "# crosscut trace"
    m = min(n // 32, 64)
    turns = n // m
    for i in range(m):
        yield f"process p{i} pid={i+10} window=0..{end_of(n)} name=w{i}"
        yield f"thread main tid={i+10} base=python main"
        at = 0
        for turn in range(turns):
            begin = (turn * m + i) * T
            if begin > at:
                yield f"span socket.recv {at} {begin} idle"
            yield f"span fn {begin} {begin+T-10} native"
            yield f"instant [sample] {begin+500}"
            yield "arg covers_ns 1000"
            yield f'arg "Own line" "b.py:{i} f"'
            at = begin + T


@kind
def chain_waits(n):
    """n processes, each the parent of the next, which it waits for; each works for a moment."""
    yield "# crosscut trace"
    for i in range(n):
        parent = f" parent=p{i-1} start=fork" if i else ""
        yield f"process p{i} pid={i+10} window=0..{end_of(n)} name=w{parent}"
        yield f"thread main tid={i+10} base=python main"
        yield f"span os.read 0 {i*T+10} idle"
        yield f"span f {i*T+10} {i*T+900} native"
        yield f"span os.read {i*T+900} {end_of(n)-5} idle"
        yield f"instant [sample] {i*T+500}"
        yield "arg covers_ns 1000"
        yield f'arg "Own line" "b.py:{i} f"'


@kind
def children_wait(n):
    """n processes, each the parent of the next, that wait for one another."""
    yield "# crosscut trace"
    for i in range(n):
        parent = f" parent=p{i-1} start=fork" if i else ""
        yield f"process p{i} pid={i+10} window={i}..{end_of(n)} name=w{parent}"
        yield f"thread main tid={i+10} base=python main"
        yield f"op f {i*T+10} {end_of(n)}"
        yield f"span poll {i*T+10} {end_of(n)-5} idle"
        yield f"instant [sample] {i*T+500}"
        yield "arg covers_ns 1000"
        yield f'arg "Own line" "b.py:{i} f"'
        yield f'arg "Waits for" poll'


@kind
def stream_overlaps(n):
    """n kernels of one stream at once."""
    yield from head(n)
    yield from main()
    for i in range(n):
        yield from launch(i, i*T)
    yield "device gpu device=0 stream=7"
    for i in range(n):
        yield f"span kernel{i % 20} {i*T+100} {i*T+n*T} device"
        yield f"in {i+1} {i*T+100}"


@kind
def args_of_one(n):
    """A span with n arguments, and one that has the last of them twice."""
    yield from head(n)
    yield from main()
    for span in range(2):
        yield f"span f {span*T} {span*T+100} native"
        for i in range(n):
            yield f"arg key{i} {i}"
    yield f"arg key{n-1} 5"
