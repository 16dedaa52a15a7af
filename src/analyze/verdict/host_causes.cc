#include "src/analyze/verdict/host_causes.h"

#include <utility>

namespace crosscut::analyze {
namespace {

using trace::Layer;

// What the lead waits for where others work: the first of these layers that one of them is in.
Cause CauseOfOthers(LayerSet work) {
  constexpr std::pair<Layer, Cause> kOrder[] = {
      {Layer::kComm, Cause::kCommunication},  {Layer::kSimulator, Cause::kSimulator},
      {Layer::kFramework, Cause::kFramework}, {Layer::kData, Cause::kInput},
      {Layer::kRuntime, Cause::kLaunches},    {Layer::kNative, Cause::kNative},
      {Layer::kPython, Cause::kPython}};
  for (const auto& [layer, cause] : kOrder) {
    if (work & Bit(layer)) return cause;
  }
  return Cause::kRecording;
}

// While the lead works itself.
Cause CauseOfWork(Layer layer, Doing doing) {
  switch (layer) {
    case Layer::kPython: return Cause::kPython;
    case Layer::kFramework: return Cause::kFramework;
    case Layer::kSimulator: return Cause::kSimulator;
    case Layer::kData: return Cause::kInput;
    case Layer::kComm: return Cause::kCommunication;
    case Layer::kNative: return doing == Doing::kFiles ? Cause::kDisk : Cause::kNative;
    case Layer::kRuntime:
      if (doing == Doing::kAwaitingDevice) return Cause::kSynchronisation;
      if (doing == Doing::kCopying) return Cause::kCopies;
      return doing == Doing::kAllocating ? Cause::kAllocation : Cause::kLaunches;
    case Layer::kOverhead: return Cause::kRecording;
    default: return Cause::kUnknown;
  }
}

}  // namespace

Purpose PurposeOf(std::string_view operation) {
  for (const std::string_view name :
       {"data", "fetch", "data_loading", "dataloader", "load_batch"}) {
    if (operation == name) return Purpose::kInput;
  }
  return operation == "simulate" ? Purpose::kSimulation : Purpose::kOther;
}

Cause CauseOnHost(LayerSet layers, const LeadStretch& lead, Purpose purpose, Relatives relatives) {
  if (lead.doing == Doing::kCollecting) return Cause::kGc;
  if (lead.doing == Doing::kCompiling) return Cause::kCompilation;
  if (layers == Bit(Layer::kOverhead)) return Cause::kRecording;
  if (purpose == Purpose::kInput) return Cause::kInput;
  if (purpose == Purpose::kSimulation) return Cause::kSimulator;
  const LayerSet work = layers & kHostBits;
  const bool works = lead.layer != Layer::kNone && (work & Bit(lead.layer)) != 0;
  if (works) return CauseOfWork(lead.layer, lead.doing);
  if (lead.doing == Doing::kPreempted) return Cause::kPreemption;
  if (lead.doing == Doing::kSleeping) return Cause::kWaiting;
  if (WaitsForThreads(lead.doing)) return Cause::kLock;
  if (lead.doing == Doing::kAwaitingProcess) return Cause::kOtherProcess;
  if (lead.doing == Doing::kSelecting) {
    if (work != 0 && !relatives.child) return Cause::kLock;
    // Without either it may wait for a timer as well as for somebody who is not recorded.
    return relatives.child || relatives.others ? Cause::kOtherProcess : Cause::kWaiting;
  }
  if (work != 0) return CauseOfOthers(work);
  return layers & kIdleBit ? Cause::kWaiting : Cause::kUnknown;
}

Cause BehindLead(LayerSet layers) {
  const LayerSet work = layers & kHostBits;
  return work != 0 ? CauseOfOthers(work) : Cause::kWaiting;
}

}  // namespace crosscut::analyze
