#include "records.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

template <class Record>
const Record* As(const CUpti_Activity* record) {
  return reinterpret_cast<const Record*>(record);
}

int64_t Signed(uint64_t ns) { return static_cast<int64_t>(ns); }

}  // namespace

Records::~Records() { std::free(items_); }

void Records::Prepare(const crosscut_host* host, const CorrelationTable* launches, Metrics* metrics,
                      uint32_t flows) {
  host_ = host;
  launches_ = launches;
  metrics_ = metrics;
  externals_.Prepare(flows);
  graph_runs_.Prepare();
  texts_.Prepare(host);
  tracks_.Prepare(host);
  items_ = static_cast<Item*>(std::malloc(kMostInBatch * sizeof(Item)));
}

void Records::Use(const Api* api, uint32_t version) {
  api_ = api;
  layout_ = LayoutOf(*api, version);
}

void Records::Begin(uint32_t clock) {
  externals_.Clear();
  graph_runs_.Clear();
  tracks_.Renew(clock);
  count_ = 0;
}

// What names things is taken in at once; what has a time waits to be sorted. False: no room.
bool Records::Note(const CUpti_Activity* record) {
  int64_t begin_ns = 0;
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: begin_ns = Signed(As<KernelRecord>(record)->start); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: begin_ns = Signed(As<CopyRecord>(record)->start); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: begin_ns = Signed(As<PeerCopyRecord>(record)->start); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: begin_ns = Signed(As<SetRecord>(record)->start); break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: begin_ns = Signed(As<GraphRecord>(record)->start); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      begin_ns = Signed(As<SynchronisationRecord>(record)->start);
      break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: begin_ns = Signed(As<OverheadRecord>(record)->start); break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto* external = As<CUpti_ActivityExternalCorrelation>(record);
      externals_.Put(external->correlationId, external->externalId);
      return true;
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
      tracks_.NameDevice(As<DeviceRecord>(record)->id, As<DeviceRecord>(record)->name);
      return true;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      tracks_.SetContext(As<ContextRecord>(record)->contextId, As<ContextRecord>(record)->deviceId,
                         As<ContextRecord>(record)->nullStreamId);
      return true;
    case CUPTI_ACTIVITY_KIND_NAME: {
      const auto* name = As<CUpti_ActivityName>(record);
      if (name->objectKind != CUPTI_ACTIVITY_OBJECT_STREAM) return true;
      const auto& id = name->objectId.dcs;
      tracks_.NameStream({id.deviceId, id.contextId, id.streamId}, name->name);
      return true;
    }
    default: return true;
  }
  if (count_ == kMostInBatch || items_ == nullptr) return false;
  items_[count_++] = {begin_ns, record};
  return true;
}

bool Records::Add(uint8_t* buffer, size_t valid) {
  const uint32_t before = count_;
  CUpti_Activity* record = nullptr;
  for (;;) {
    const CUptiResult result = api_->ActivityGetNextRecord(buffer, valid, &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return true;
    const auto* at = reinterpret_cast<const uint8_t*>(record);
    // Behind a record that cannot be read there is no way on.
    if (result != CUPTI_SUCCESS || at < buffer ||
        at + std::max(sizeof(CUpti_ActivityKind), LeastBytes(record->kind)) > buffer + valid) {
      ++counts_.damaged;
      return true;
    }
    if (Note(record)) continue;
    if (before != 0) {
      count_ = before;
      return false;
    }
    ++counts_.lost;  // a buffer with more records than a batch holds
  }
}

void Records::Push(const Pauses& paused) {
  std::sort(items_, items_ + count_,
            [](const Item& a, const Item& b) { return a.begin_ns < b.begin_ns; });
  for (uint32_t i = 0; i < count_; ++i) PushOne(items_[i].record, paused);
  count_ = 0;
}

void Records::PushOne(const CUpti_Activity* record, const Pauses& paused) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: return PushKernel(record, paused);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return PushCopy(record, paused);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return PushPeerCopy(record, paused);
    case CUPTI_ACTIVITY_KIND_MEMSET: return PushSet(record, paused);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return PushGraph(record, paused);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return PushSynchronisation(record);
    default: return PushOverhead(record);
  }
}

void Records::Arg(uint32_t key, int64_t value) const { host_->arg(host_->host, key, value); }

void Records::ArgUnless(int64_t usual, uint32_t key, int64_t value) const {
  if (value != usual) Arg(key, value);
}

uint64_t Records::SourceNode(const CUpti_Activity* record, size_t offset) const {
  uint64_t node = 0;
  if (offset == 0) return 0;
  std::memcpy(&node, reinterpret_cast<const uint8_t*>(record) + offset, sizeof node);
  return node;
}

bool Records::HasTimes(int64_t begin_ns, int64_t end_ns) {
  const bool has = begin_ns > 0 && end_ns >= begin_ns;
  counts_.lost += has ? 0 : 1;
  return has;
}

bool Records::PushWork(const Work& work, const Pauses& paused) {
  uint64_t launch = launches_->Find(work.correlation);
  const bool in_loop = work.graph != 0 && work.correlation == 0;
  if (in_loop) {
    launch = graph_runs_.Find(work.graph, work.begin_ns);
  } else if (work.graph != 0 && launch != 0) {
    graph_runs_.Note(work.graph, work.begin_ns, launch);
  }
  // Where the launch is not known, when it ran is the best sign of when it was launched.
  if (launch == kLeftOut || (launch == 0 && paused.Contains(work.begin_ns))) {
    ++counts_.paused;
    return false;
  }
  if (!HasTimes(work.begin_ns, work.end_ns)) return false;
  const uint32_t track = tracks_.ForSpan(work.stream, work.begin_ns, work.end_ns);
  if (track == 0) {
    ++counts_.lost;
    return false;
  }
  host_->span(host_->host, track, work.name, work.begin_ns, work.end_ns);
  ++counts_.pushed;
  if (launch != 0) {
    host_->flow_in(host_->host, launch);
    counts_.by_graph += in_loop ? 1 : 0;
  } else {
    ++counts_.unlinked;
  }
  const Keys& keys = texts_.keys();
  ArgUnless(0, keys.graph, work.graph);
  ArgUnless(0, keys.graph_node, static_cast<int64_t>(work.graph_node));
  ArgUnless(0, keys.source_node, static_cast<int64_t>(work.source_node));
  ArgUnless(0, keys.external, static_cast<int64_t>(externals_.Find(work.correlation)));
  return true;
}

template <class Record>
Records::Work Records::WorkOf(const Record& record, uint32_t name, uint64_t source_node) {
  return {{record.deviceId, record.contextId, record.streamId},
          Signed(record.start),
          Signed(record.end),
          record.correlationId,
          name,
          record.graphId,
          record.graphNodeId,
          source_node};
}

void Records::PushKernel(const CUpti_Activity* record, const Pauses& paused) {
  const auto& kernel = *As<KernelRecord>(record);
  const uint64_t launch = launches_->Find(kernel.correlationId);
  if (metrics_->IsRepeat(launch)) {
    ++counts_.repeats;
    return;
  }
  const Work work =
      WorkOf(kernel, texts_.Kernel(kernel.name), SourceNode(record, layout_.kernel_source_node));
  if (!PushWork(work, paused)) return;
  const Keys& keys = texts_.keys();
  Arg(keys.grid_x, kernel.gridX);
  ArgUnless(1, keys.grid_y, kernel.gridY);
  ArgUnless(1, keys.grid_z, kernel.gridZ);
  Arg(keys.block_x, kernel.blockX);
  ArgUnless(1, keys.block_y, kernel.blockY);
  ArgUnless(1, keys.block_z, kernel.blockZ);
  Arg(keys.registers, kernel.registersPerThread);
  ArgUnless(0, keys.static_shared_bytes, kernel.staticSharedMemory);
  ArgUnless(0, keys.dynamic_shared_bytes, kernel.dynamicSharedMemory);
  if (const uint32_t word = metrics_->Take(launch)) {
    host_->arg_word(host_->host, keys.members, word);
  }
}

void Records::PushWindow(uint32_t metrics, int64_t at_ns) {
  const uint32_t track = tracks_.ForOverhead();
  if (track == 0) return;
  host_->instant(host_->host, track, texts_.Metrics(), at_ns);
  host_->arg_word(host_->host, texts_.keys().members, metrics);
}

void Records::PushCopy(const CUpti_Activity* record, const Pauses& paused) {
  const auto& copy = *As<CopyRecord>(record);
  const Work work = WorkOf(copy, texts_.Copy(copy.copyKind, copy.srcKind, copy.dstKind),
                           SourceNode(record, layout_.copy_source_node));
  if (PushWork(work, paused)) Arg(texts_.keys().bytes, static_cast<int64_t>(copy.bytes));
}

void Records::PushPeerCopy(const CUpti_Activity* record, const Pauses& paused) {
  const auto& copy = *As<PeerCopyRecord>(record);
  const Work work = WorkOf(copy, texts_.Copy(copy.copyKind, copy.srcKind, copy.dstKind), 0);
  if (!PushWork(work, paused)) return;
  const Keys& keys = texts_.keys();
  Arg(keys.bytes, static_cast<int64_t>(copy.bytes));
  Arg(keys.source_device, copy.srcDeviceId);
  Arg(keys.target_device, copy.dstDeviceId);
}

void Records::PushSet(const CUpti_Activity* record, const Pauses& paused) {
  const auto& set = *As<SetRecord>(record);
  const Work work =
      WorkOf(set, texts_.Set(set.memoryKind), SourceNode(record, layout_.set_source_node));
  if (!PushWork(work, paused)) return;
  Arg(texts_.keys().bytes, static_cast<int64_t>(set.bytes));
  Arg(texts_.keys().value, set.value);
}

void Records::PushGraph(const CUpti_Activity* record, const Pauses& paused) {
  const auto& graph = *As<GraphRecord>(record);
  PushWork({{graph.deviceId, graph.contextId, graph.streamId},
            Signed(graph.start),
            Signed(graph.end),
            graph.correlationId,
            texts_.Graph(),
            graph.graphId,
            0,
            0},
           paused);
}

// The wait itself is a span of the thread that waits; this says for what.
void Records::PushSynchronisation(const CUpti_Activity* record) {
  const auto& wait = *As<SynchronisationRecord>(record);
  if (!HasTimes(Signed(wait.start), Signed(wait.end))) return;
  const uint32_t track = tracks_.ForInstant(tracks_.KnownStream(wait.contextId, wait.streamId));
  if (track == 0) return;
  host_->instant(host_->host, track, texts_.Synchronisation(wait.type), Signed(wait.start));
  Arg(texts_.keys().wait_ns, Signed(wait.end - wait.start));
  ArgUnless(-1, texts_.keys().event, static_cast<int32_t>(wait.cudaEventId));
}

void Records::PushOverhead(const CUpti_Activity* record) {
  const auto& overhead = *As<OverheadRecord>(record);
  if (!HasTimes(Signed(overhead.start), Signed(overhead.end))) return;
  const uint64_t ns = overhead.end - overhead.start;
  counts_.overhead_ns += ns;
  const uint32_t track = tracks_.ForOverhead();
  if (track == 0) return;
  host_->instant(host_->host, track, texts_.Overhead(overhead.overheadKind),
                 Signed(overhead.start));
  Arg(texts_.keys().ns, static_cast<int64_t>(ns));
  if (overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
    Arg(texts_.keys().thread, overhead.objectId.pt.threadId);
  }
}

}  // namespace crosscut::cupti
