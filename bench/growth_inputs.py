"""Small inputs with n of one thing, for growth.py: KINDS[name](n) yields the lines of a trace in
the text form (src/trace/text.h)."""

LAYERS = "python framework runtime simulator data comm native idle".split()
T = 1000  # ns
KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


def end_of(n):
    return (n + 10) * T * 4


def head(n):
    yield "# crosscut trace"
    yield f"process p pid=7 window=0..{end_of(n)} name=p start=record"


def main():
    yield "thread main tid=7 base=python main lead"


@kind
def process_chain(n):
    yield "# crosscut trace"
    for i in range(n):
        parent = f" parent=p{i-1} start=fork" if i else ""
        yield f"process p{i} pid={i+10} window={i*T}..{end_of(n)} name=w{parent}"
        yield f"thread main tid={i+10} base=python main"
        yield f"span f {i*T+10} {i*T+200} native"


@kind
def handovers_processes(n):
    """Each process hands over to the next."""
    yield "# crosscut trace"
    for p in range(n):
        yield f"process p{p} pid={p+10} window=0..{end_of(n)} name=p{p}"
        yield f"thread main tid={p+10} base=python main lead"
        at = p * T
        yield f"span get {at} {at+300} idle waits"
        if p:
            yield f"in {-(p + 5)} {at + 100}"
        yield f"span put {at+400} {at+600} native"
        yield f"out {-(p + 6)} {at + 500}"


@kind
def threads_together(n):
    yield from head(n)
    yield from main()
    yield f"op work 0 {n*T}"
    for i in range(n):
        yield f"thread t{i} tid={i+10} base=python"
        yield f"op w{i % 7} {i*T} {end_of(n)-T*i}"
        yield f"span aten::add {i*T} {end_of(n)-T*i} framework"


@kind
def threads_named_layers(n):
    yield from head(n)
    yield from main()
    yield f"op work 0 {n*T}"
    for i in range(n):
        yield f"thread worker tid={i+10} base=idle"
        yield f"span x{i} {i*T} {i*T+3*T} {LAYERS[i % 8]}"


@kind
def span_names(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span fn{i} {i*T} {i*T+500} native"


@kind
def op_names(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"op work{i} {i*T} {i*T+900}"
        yield f"span aten::add {i*T+10} {i*T+200} framework"


@kind
def op_depth(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"op work{i} {i*T} {(2*n-i)*T}"


@kind
def op_depth_found(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"op work{i} {i*T} {(2*n-i)*T} {'found' if i % 2 else ''}"


@kind
def span_depth(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span fn{i} {i*T} {(2*n-i)*T} native"


@kind
def span_depth_leaves(n):
    """At depth n, n calls of an operator each with a launch."""
    yield from head(n)
    yield from main()
    m = n // 2
    for i in range(m):
        yield f"span fn{i} {i} {(n+10)*2*T-i} python at={i}"
    for i in range(m):
        at = (i + 10) * T
        yield f"span aten::add {at} {at+500} framework at=3"
        yield f"span cudaLaunchKernel {at+10} {at+50} runtime"
        yield f"out {i+1} {at+20}"
    yield "device gpu stream=7 device=0"
    for i in range(m):
        at = (i + 10) * T
        yield f"span kernel {at+100} {at+300} device"
        yield f"in {i+1} {at+100}"


@kind
def operator_depth(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span aten::op{i % 50} {i*T} {(2*n-i)*T} framework"


def step_lines(n, more=lambda i: ""):
    for i in range(n):
        at = i * T
        yield f"step step {at} {at+900} number={i} {more(i)}"
        yield f"op work {at} {at+600 + (i * 7919) % 50}"
        yield f"span aten::add {at+10} {at+200} framework"


@kind
def steps(n):
    yield from head(n)
    yield from main()
    yield from step_lines(n)


@kind
def steps_control(n):
    yield from head(n)
    yield from main()
    yield "probe op 10000 5000 12000 18000 100"
    levels = (2, 2, 2, 0, 0, 0, 3, 3, 1, 4)
    yield from step_lines(n, lambda i: f"level={levels[i // 3 % 10]}{'' if i % 3 else ' switch'}")


@kind
def steps_operations(n):
    """n steps with an operation of their own each."""
    yield from head(n)
    yield from main()
    for i in range(n):
        at = i * T
        yield f"step step {at} {at+900} number={i}"
        yield f"op work{i} {at} {at+600}"
        yield f"span aten::add{i} {at+10} {at+200} framework"


@kind
def steps_of_threads(n):
    """A step of each thread."""
    yield from head(n)
    for i in range(n):
        at = i * T
        yield f"thread t{i} tid={i+10} base=python"
        yield f"step step {at} {at+900}"
        yield f"op work {at} {at+600}"


@kind
def step_threads_work(n):
    """n steps, n threads each working throughout: no edges in them."""
    m = n // 2
    yield from head(n)
    yield from main()
    yield from step_lines(m)
    for i in range(m):
        yield f"thread t{i} tid={i+10} base=idle"
        yield f"span x 0 {m*T} native"


@kind
def requests_overlap(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"async requests"
        yield f'request "GET /{i % 10}" {i*T} {i*T+n*T}'
        yield "arg running_ns 400"


@kind
def losses(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span f {i*T} {i*T+10} native"
        yield f"lose reason{i} 3 {i*T} {i*T+100}"


@kind
def pauses(n):
    yield from head(n)
    for i in range(n):
        yield f"pause {i*T+500} {i*T+600}"
    yield from main()
    for i in range(n):
        yield f"op w {i*T} {i*T+900}"


@kind
def ranks(n):
    yield "# crosscut trace"
    for i in range(n):
        yield f'process p{i} pid={i+10} window=0..{end_of(n)} name="rank {i}"'
        yield f"meta rank {i}"
        yield f"meta world_size {n}"
        yield f"thread main tid={i+10} base=python main"
        yield f"step step 0 900"
        yield f"span c10d::allreduce_ {i} {2*n} comm"
        yield 'arg "Collective name" allreduce'
        yield 'arg "Process Group Name" g0'
        yield f'arg "Group size" {n}'
        yield 'arg "In msg nelems" 100'
        yield 'arg dtype Float'
        yield 'arg Seq 1'


@kind
def groups(n):
    """Two ranks, n process groups."""
    yield "# crosscut trace"
    for p in range(2):
        yield f'process p{p} pid={p+10} window=0..{end_of(n)} name="rank {p}"'
        yield f"meta rank {p}"
        yield f"meta world_size 2"
        yield f"thread main tid={p+10} base=python main"
        for i in range(n):
            yield f"span c10d::allreduce_ {i*T} {i*T+500+p} comm"
            yield 'arg "Collective name" allreduce'
            yield f'arg "Process Group Name" g{i}'
            yield f'arg "Group size" 2'
            yield 'arg "In msg nelems" 100'
            yield 'arg dtype Float'
            yield 'arg Seq 1'


@kind
def collectives(n):
    """Two ranks, n collectives of a group, in steps."""
    yield "# crosscut trace"
    for p in range(2):
        yield f'process p{p} pid={p+10} window=0..{end_of(n)} name="rank {p}"'
        yield f"meta rank {p}"
        yield f"meta world_size 2"
        yield f"thread main tid={p+10} base=python main"
        for i in range(n):
            yield f"step step {i*T} {i*T+900}"
            yield f"span c10d::allreduce_ {i*T} {i*T+500+p} comm"
            yield 'arg "Collective name" allreduce'
            yield f'arg "Process Group Name" g'
            yield f'arg "Group size" 2'
            yield 'arg "In msg nelems" 100'
            yield 'arg dtype Float'
            yield f'arg Seq {i}'


def launch(i, at, name="cudaLaunchKernel"):
    yield f"span aten::mm {at} {at+80} framework"
    yield f"span {name} {at+10} {at+50} runtime"
    yield f"out {i+1} {at+20}"


@kind
def devices(n):
    yield from head(n)
    yield from main()
    yield f"op w 0 {n*T}"
    for i in range(n):
        yield from launch(i, i*T)
    for i in range(n):
        yield f"device gpu{i} device={i} stream=7"
        yield f"span kernel {i*T+100} {i*T+n*T} device"
        yield f"in {i+1} {i*T+100}"


@kind
def streams(n):
    yield from head(n)
    yield from main()
    yield f"op w 0 {n*T}"
    for i in range(n):
        yield from launch(i, i*T)
    for i in range(n):
        yield f"device gpu device=0 stream={i}"
        yield f"span kernel {i*T+100} {i*T+n*T} device"
        yield f"in {i+1} {i*T+100}"


@kind
def kernels(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"op w{i} {i*T} {i*T+400}"
        yield from launch(i, i*T)
    yield f"device gpu device=0 stream=7"
    for i in range(n):
        yield f"span kernel{i} {i*T+100} {i*T+700} device"
        yield f"in {i+1} {i*T+100}"


@kind
def kernels_queued(n):
    """All launched before the first runs."""
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"step step {i*100} {i*100+99}"
        yield f"op w{i} {i*100} {i*100+90}"
        yield from launch(i, i*100)
    yield f"device gpu device=0 stream=7"
    for i in range(n):
        at = n*100 + i*T
        yield f"span kernel{i%20} {at+100} {at+700} device"
        yield f"in {i+1} {at+100}"
    yield f"span ncclKernel {n*100} {n*100+50} device"


@kind
def kernels_waits_late(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield from launch(i, i*100)
        yield f"span cudaDeviceSynchronize {i*100+85} {i*100+95} runtime"
    yield f"device gpu device=0 stream=7"
    for i in range(n):
        at = n*100 + i*T
        yield f"span kernel{i%20} {at+100} {at+700} device"
        yield f"in {i+1} {at+100}"


@kind
def kernels_overlap_streams(n):
    yield from head(n)
    yield from main()
    m = 64
    for s in range(m):
        yield f"device gpu device=0 stream={s}"
        for i in range(n // m):
            at = i*T*m + s*T
            name = f"{'kernel' if s % 3 else 'ncclDevKernel_AllReduce'}{i}"
            yield f"span {name} {at} {at+60*T} device"


@kind
def arrows_back(n):
    """Forward calls in order, backward ones in reverse."""
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span aten::mm {i*T} {i*T+500} framework"
        yield f"out {(1<<62) + i} {i*T+100}"
    yield f"span wait {n*T} {3*n*T} framework waits"
    yield "thread autograd tid=8 base=idle"
    for i in range(n):
        at = (n + i) * T
        yield f"span MmBackward0 {at+600} {at+900} framework"
        yield f"in {(1<<62) + n-1-i} {at+700}"


@kind
def samples(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"instant [sample] {i*T}"
        yield "arg covers_ns 1000"
        yield f'arg "Python stack" "a.py:{i} f;b.py:{i%50} g"'
        yield f'arg "Own line" "a.py:{i} f"'
        yield f"arg Library lib{i}.so"
        yield f"arg Function fn{i}"


@kind
def samples_waits(n):
    yield from head(n)
    yield from main()
    yield from step_lines(n)
    for i in range(n):
        yield f"instant [sample] {i*T+700}"
        yield "arg covers_ns 1000"
        yield f'arg "Own line" "a.py:{i} f"'
        yield f'arg "Waits for" "lock{i}"'
        yield f'arg "Holds the GIL" {i%2}'
        yield f"arg run_delay_ns 30"


def mem(at, addr, size, total):
    yield f"instant [memory] {at}"
    yield f"arg Addr {addr}"
    yield f"arg Bytes {size}"
    yield f'arg "Total Allocated" {total}'
    yield 'arg "Device Type" 0'
    yield 'arg "Device Id" 0'


@kind
def allocations_alive(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span aten::op{i} {i*T} {i*T+500} framework"
    for i in range(n):
        yield from mem(i*T+100, i+1, 10, 10*(i+1))
    for i in range(n):
        yield from mem((n+i)*T+100, i+1, -10, 10*(n-i-1))


@kind
def allocations_steps(n):
    yield from head(n)
    yield from main()
    yield from step_lines(n)
    for i in range(n):
        yield from mem(i*T+100, i+1, 10, 10*(i+1))


@kind
def args_texts(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span f {i*T} {i*T+100} native"
        yield f"arg key value{i}"
        yield f"arg key{i} 5"


@kind
def crossing_ops_at(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"op f{i} {i*T} {i*T+n*T}"


@kind
def processes_steps(n):
    """n/12 processes of 12 steps each, all names their own."""
    yield "# crosscut trace"
    for i in range(n // 4):
        yield f"process p{i} pid={i+10} window=0..{end_of(n)} name=worker{i}"
        yield f"thread main tid={i+10} base=python main"
        for s in range(40):
            at = (i % 50) * T + s * T
            yield f"step step {at} {at+900}"
            yield f"op work{i} {at} {at+500}"
            yield f"span aten::add{i} {at+10} {at+200+s%7} framework"
        yield from mem(100, 5, 10, 10)
        yield f"instant [sample] 500"
        yield "arg covers_ns 1000"
        yield f'arg "Own line" "a{i}.py:{i} f"'


@kind
def streams_operations(n):
    """Work of n operations at once."""
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"op w{i} {i*T} {i*T+400}"
        yield from launch(i, i*T)
    for i in range(n):
        yield f"device gpu device=0 stream={i}"
        yield f"span kernel {i*T+100} {i*T+n*T} device"
        yield f"in {i+1} {i*T+100}"


@kind
def device_wait_threads(n):
    """n threads wait throughout, n kernels are launched meanwhile."""
    yield from head(n)
    yield from main()
    for i in range(n):
        yield from launch(i, (i + 5)*T)
    for i in range(n):
        yield f"thread w{i} tid={i+10} base=idle"
        yield f"span cudaStreamSynchronize 10 {(n+8)*T} runtime"
    yield "device gpu device=0 stream=7"
    for i in range(n):
        yield f"span kernel {(i+5)*T+100} {(i+5)*T+700} device"
        yield f"in {i+1} {(i+5)*T+100}"


@kind
def graph_depth(n):
    yield from head(n)
    yield from main()
    for i in range(n):
        yield f"span cudaGraphLaunch {i*T} {(2*n-i)*T} runtime"


@kind
def waits_depth(n):
    """Waits for another process, deep down."""
    yield "# crosscut trace"
    yield f"process p0 pid=10 window=0..{end_of(n)} name=p0"
    yield f"thread main tid=10 base=python main lead"
    for i in range(n):
        yield f"span f{i} {i} {end_of(n)-i} python"
    for i in range(n):
        at = (i + 10) * T
        yield f"span recv {at} {at+300} comm waits"
        yield f"in {-(2*i + 5)} {at + 200}"
    yield f"process p1 pid=11 window=0..{end_of(n)} name=p1"
    yield f"thread main tid=11 base=python main lead"
    for i in range(n):
        at = (i + 10) * T
        yield f"span send {at} {at+100} native"
        yield f"out {-(2*i + 5)} {at + 50}"


@kind
def steps_alternate(n):
    yield from head(n)
    yield from main()
    at = 0
    for i in range(n):
        length = 300 if i // 20 % 2 else 2500
        yield f"step step {at} {at+length} number={i}"
        yield f"op work{i//20%2} {at} {at+length-50}"
        at += length + 10


@kind
def samples_threads_busy(n):
    """n threads that work at once while the lead waits."""
    yield from head(n)
    yield from main()
    for i in range(20):
        yield f"step step {i*n*50} {i*n*50+n*50-10}"
        yield f"span wait {i*n*50} {i*n*50+n*50-10} idle waits"
        yield f"instant [sample] {i*n*50+50}"
        yield "arg covers_ns 1000"
        yield f'arg "Python stack" "a.py:4 f;threading.py:3 wait"'
        yield f'arg "Own line" "a.py:4 f"'
    for i in range(n):
        yield f"thread t{i} tid={i+10} base=python"
        yield f"span g {i*T%(n*900)} {i*T%(n*900)+n*20} native"
        yield f"instant [sample] {i*T%(n*900)+5}"
        yield "arg covers_ns 1000"
        yield f'arg "Own line" "b.py:{i} f"'


if __name__ == "__main__":
    import sys
    k, n, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, "w") as out:
        for line in KINDS[k](n):
            out.write(line + "\n")
