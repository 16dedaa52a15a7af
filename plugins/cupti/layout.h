// What of a record may be read, by CUPTI's version.
//
// Records only grow at their end: what this plugin reads of each kind lies where CUDA 11.6 put it
// (checked against the headers in layout.cc), but for a few fields that came later and are read
// where the running CUPTI says that its records are long enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api.h"

namespace crosscut::cupti {

struct Layout {
  // The offset of the id that a graph's node had in the graph it was instantiated from (CUDA 13);
  // 0: the record has none.
  size_t kernel_source_node = 0, copy_source_node = 0, set_source_node = 0;
};

Layout LayoutOf(const Api& api, uint32_t version);

// Bytes that every supported version writes for a kind that is read here; 0 for other kinds.
size_t LeastBytes(CUpti_ActivityKind kind);

// The records as the oldest supported version writes them.
using KernelRecord = CUpti_ActivityKernel7;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using SetRecord = CUpti_ActivityMemset4;
using GraphRecord = CUpti_ActivityGraphTrace;
using SynchronisationRecord = CUpti_ActivitySynchronization;
using OverheadRecord = CUpti_ActivityOverhead;
using DeviceRecord = CUpti_ActivityDevice4;
using ContextRecord = CUpti_ActivityContext;

}  // namespace crosscut::cupti
