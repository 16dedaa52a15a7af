// TensorFlow's, JAX's and XProf's traces: a serialised XSpace. docs/xspace.md says what of it
// becomes what.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "src/base/counted.h"
#include "src/base/file.h"
#include "src/import/importer.h"
#include "src/import/xspace/xspace_own.h"
#include "src/import/xspace/xspace_planes.h"

namespace crosscut::import {
namespace {

class XSpaceImport {
 public:
  explicit XSpaceImport(std::string_view bytes)
      : bytes_(bytes),
        process_(builder_.AddProcess("host")),
        planes_(&builder_, process_, {.devices = &devices_}) {}

  Result<trace::Trace> Run(const std::string& path) {
    const auto hosts = xspace::SpaceTexts(bytes_, xspace::Texts::kHostnames);
    const bool named = hosts.ok() && !hosts->empty();
    builder_.process(process_).name = builder_.Text(named ? hosts->front() : "host");
    const Status status = TakePlanes();
    if (!status.ok()) {
      if (builder_.tracks() == 0) return status.At(path);
      builder_.trace().gaps.push_back("The file is damaged (" + std::string(status.message()) +
                                      "); what comes before that is here.");
      builder_.trace().damaged = true;
    }
    if (const std::string left_out = planes_.LeftOut(); !left_out.empty()) {
      builder_.trace().gaps.push_back("Of the file, " + left_out + ".");
    }
    for (const std::string_view words : xspace::WordsOfWriter(bytes_)) {
      const std::string_view who = own_.empty() ? "Its writer says: " : "";
      builder_.trace().gaps.push_back(std::string(who) + std::string(words));
    }
    builder_.trace().kept.format = "xspace";
    builder_.trace().kept.path = path;
    return own_.empty() ? Finish() : FinishOwn();
  }

 private:
  // A space that Crosscut has written has notes in all its planes. Where another profiler's planes
  // have joined them, it is read as any other.
  Status TakePlanes() {
    bool own = true;
    (void)xspace::ForEachPlane(bytes_, [&own](const xspace::Plane& plane) {
      own = own && !plane.note.empty();
      return Status();
    });
    if (!own) return planes_.Take(bytes_);
    const Status status = xspace::ForEachPlane(
        bytes_, [this](const xspace::Plane& plane) { return own_.Take(plane); });
    const Status passed = own_.Finish();
    return status.ok() ? passed : status;
  }

  trace::Trace FinishOwn() {
    trace::Trace& trace = builder_.trace();
    trace.clock = "CLOCK_REALTIME";
    trace.started_realtime_ns = builder_.process(process_).start_ns;
    return builder_.Finish();
  }

  // Times are those of the wall clock, or, where the writer has normalised them, count from the
  // start of the profile.
  trace::Trace Finish() {
    trace::Process& process = builder_.process(process_);
    const bool none = planes_.begin_ns() > planes_.end_ns();
    const int64_t begin = none ? 0 : planes_.begin_ns(), end = none ? 0 : planes_.end_ns();
    const int64_t start = planes_.start_ns();
    const bool normalised = start > 0 && begin < start / 2;
    const int64_t base = normalised ? start : 0;
    process.start_ns = start > 0 ? std::min(start - base, begin) : begin;
    process.end_ns = std::max(planes_.stop_ns() - base, end);
    process.pid = planes_.pid();
    trace::Trace& trace = builder_.trace();
    trace.clock = normalised ? "profile" : "CLOCK_REALTIME";
    trace.realtime_offset_ns = base;
    trace.started_realtime_ns = process.start_ns + base;
    trace::Trace whole = builder_.Finish();
    if (const uint64_t repeated = builder_.RepeatedFlows(1); repeated > 0) {
      whole.gaps.push_back(
          base::Counted(repeated,
                        "{launch shares|launches share} the correlation of another launch of "
                        "{its|their} process: work is given to the latest before it."));
    }
    return whole;
  }

  std::string_view bytes_;
  trace::Builder builder_;
  trace::ProcessId process_;
  DeviceNumbers devices_;
  XSpacePlanes planes_;
  OwnPlanes own_{&builder_, process_};
};

}  // namespace

bool SniffXSpace(const Input& input) {
  return !input.directory && xspace::LooksLikeSpace(input.head);
}

Result<trace::Trace> MakeXSpace(const Input& input) {
  std::error_code error;
  std::string file = input.path;
  if (std::filesystem::is_symlink(file, error)) file = std::filesystem::canonical(file, error);
  const Result<std::string> bytes = base::ReadSmallFile(file, xspace::kMaxSpaceBytes);
  if (!bytes.ok()) return bytes.status();
  return XSpaceImport(*bytes).Run(file);
}

}  // namespace crosscut::import
