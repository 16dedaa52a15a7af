#include "layout.h"

namespace crosscut::cupti {
namespace {

constexpr uint32_t kFirstWithSizes = 130000;
// Of the fields that came later, on 64-bit machines; held against the headers below.
constexpr size_t kKernelSourceNode = 240, kCopySourceNode = 104, kSetSourceNode = 96;

#define SAME(older, newer, field) \
  static_assert(offsetof(older, field) == offsetof(newer, field), #newer "::" #field " moved")

#if CUPTI_API_VERSION >= 130500
using NewestKernel = CUpti_ActivityKernel13;
using NewestCopy = CUpti_ActivityMemcpy7;
using NewestSet = CUpti_ActivityMemset5;
using NewestDevice = CUpti_ActivityDevice6;
using NewestContext = CUpti_ActivityContext4;
static_assert(offsetof(NewestKernel, sourceGraphNodeId) == kKernelSourceNode);
static_assert(offsetof(NewestCopy, sourceGraphNodeId) == kCopySourceNode);
static_assert(offsetof(NewestSet, sourceGraphNodeId) == kSetSourceNode);
#else
using NewestKernel = CUpti_ActivityKernel9;
using NewestCopy = CUpti_ActivityMemcpy6;
using NewestSet = CUpti_ActivityMemset4;
using NewestDevice = CUpti_ActivityDevice5;
using NewestContext = CUpti_ActivityContext3;
#endif
SAME(KernelRecord, NewestKernel, registersPerThread);
SAME(KernelRecord, NewestKernel, start);
SAME(KernelRecord, NewestKernel, end);
SAME(KernelRecord, NewestKernel, streamId);
SAME(KernelRecord, NewestKernel, gridX);
SAME(KernelRecord, NewestKernel, blockZ);
SAME(KernelRecord, NewestKernel, dynamicSharedMemory);
SAME(KernelRecord, NewestKernel, correlationId);
SAME(KernelRecord, NewestKernel, name);
SAME(KernelRecord, NewestKernel, graphNodeId);
SAME(KernelRecord, NewestKernel, graphId);
SAME(CopyRecord, NewestCopy, start);
SAME(CopyRecord, NewestCopy, correlationId);
SAME(CopyRecord, NewestCopy, graphNodeId);
SAME(CopyRecord, NewestCopy, graphId);
SAME(SetRecord, NewestSet, start);
SAME(SetRecord, NewestSet, memoryKind);
SAME(SetRecord, NewestSet, graphNodeId);
SAME(SetRecord, NewestSet, graphId);
SAME(GraphRecord, CUpti_ActivityGraphTrace2, correlationId);
SAME(GraphRecord, CUpti_ActivityGraphTrace2, streamId);
SAME(SynchronisationRecord, CUpti_ActivitySynchronization2, cudaEventId);
SAME(OverheadRecord, CUpti_ActivityOverhead3, end);
SAME(DeviceRecord, NewestDevice, id);
SAME(DeviceRecord, NewestDevice, name);
SAME(ContextRecord, NewestContext, nullStreamId);
#undef SAME

// Where the field lies if the running CUPTI's records of the kind reach beyond it.
size_t Where(const Api& api, CUpti_ActivityKind kind, size_t offset) {
  size_t bytes = 0;
  if (api.ActivityGetStructSize(kind, 0, &bytes) != CUPTI_SUCCESS) return 0;
  return bytes >= offset + sizeof(uint64_t) ? offset : 0;
}

}  // namespace

Layout LayoutOf(const Api& api, uint32_t version) {
  Layout layout;
  if (version < kFirstWithSizes || api.ActivityGetStructSize == nullptr) return layout;
  layout.kernel_source_node = Where(api, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kKernelSourceNode);
  layout.copy_source_node = Where(api, CUPTI_ACTIVITY_KIND_MEMCPY, kCopySourceNode);
  layout.set_source_node = Where(api, CUPTI_ACTIVITY_KIND_MEMSET, kSetSourceNode);
  return layout;
}

size_t LeastBytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(PeerCopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(SetRecord);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(GraphRecord);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(SynchronisationRecord);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(OverheadRecord);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(DeviceRecord);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(ContextRecord);
    case CUPTI_ACTIVITY_KIND_NAME: return sizeof(CUpti_ActivityName);
    default: return 0;
  }
}

}  // namespace crosscut::cupti
