#include "src/trace/memory_marks.h"

namespace crosscut::trace {

MemoryMarks::MemoryMarks(const Trace& trace)
    : trace_(trace),
      changed_(trace.strings.Find("[memory]")),
      failed_(trace.strings.Find("[OutOfMemory]")),
      unseen_(trace.strings.Find("[memory unseen]")),
      allocator_(trace.strings.Find("Allocator")),
      bytes_(trace.strings.Find("Bytes")),
      total_(trace.strings.Find("Total Allocated")),
      reserved_(trace.strings.Find("Total Reserved")),
      type_(trace.strings.Find("Device Type")),
      index_(trace.strings.Find("Device Id")),
      address_(trace.strings.Find("Addr")) {}

MemoryMark MemoryMarks::Read(const Args& args, uint32_t instant) const {
  MemoryMark mark;
  for (const Arg& arg : args.of(instant)) {
    if (arg.is_text) {
      if (arg.key == allocator_) mark.allocator = arg.text();
    } else if (arg.key == bytes_ && arg.value != INT64_MIN) {  // that has no opposite
      mark.bytes = arg.value;
    } else if (arg.key == total_) {
      mark.total = arg.value;
    } else if (arg.key == reserved_) {
      mark.reserved = arg.value;
    } else if (arg.key == type_) {
      mark.type = arg.value;
    } else if (arg.key == index_) {
      mark.index = arg.value;
    } else if (arg.key == address_) {
      mark.address = arg.value;
    }
  }
  return mark;
}

std::string MemoryMarks::DeviceText(const MemoryMark& mark) const {
  return mark.allocator.valid() ? std::string(trace_.text(mark.allocator))
                                : MemoryDeviceName(mark.type, mark.index);
}

}  // namespace crosscut::trace
