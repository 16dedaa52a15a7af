#include "src/export/passed_profiles.h"

#include <algorithm>
#include <utility>

#include "src/base/counted.h"
#include "src/base/file.h"
#include "src/xspace/copy.h"

namespace crosscut::exporting {

using xspace::Line;
using xspace::Plane;
using xspace::Stat;

PassedProfiles::PassedProfiles(const trace::Trace& trace, bool none)
    : trace_(trace), passed_(trace.profiles.size()), files_(trace.profiles.size()) {
  for (size_t i = 0; !none && i < trace.profiles.size(); ++i) {
    passed_[i] = Open(i);
    left_ += passed_[i] ? 0 : 1;
    for (const std::string& file : files_[i]) Look(file);
  }
}

bool PassedProfiles::Open(size_t profile) {
  std::vector<std::string> files;
  for (const trace::Profile::Part& part : trace_.profiles[profile].parts) {
    const auto bytes = base::ReadSmallFile(part.path, xspace::kMaxSpaceBytes);
    if (!bytes.ok()) return false;
    std::string& copy = files.emplace_back();
    const std::string_view message = xspace::WithoutZeros(*bytes);
    if (!xspace::Copy(xspace::Message::kSpace, message, {}, &copy).ok()) return false;
  }
  files_[profile] = std::move(files);
  return true;
}

void PassedProfiles::Look(const std::string& file) {
  (void)xspace::ForEachPlane(file, [&](const Plane& plane) {
    names_.insert(std::string(plane.name));
    ids_.insert(plane.id);
    const auto take = [&](const Stat& stat) {
      const bool number = stat.type == Stat::Type::kUint64 ||
                          (stat.type == Stat::Type::kInt64 && stat.number >> 63 == 0);
      if (number && plane.stat_name(stat.metadata_id) == "correlation_id") {
        last_correlation_ = std::max(last_correlation_, stat.number);
      }
      return Status();
    };
    return plane.ForEachLine([&](const Line& line) {
      return xspace::ForEachEvent(line, [&](const xspace::Event& event) {
        return xspace::ForEachEventStat(event.bytes, take);
      });
    });
  });
}

std::string PassedProfiles::Gap() const {
  if (left_ == 0) return "";
  return base::Counted(left_,
                       "{profile that a source collected is|profiles that sources collected are} "
                       "gone, or not what every reader takes: of {it|them} the file has the spans "
                       "alone.");
}

Status PassedProfiles::ForEachPlane(trace::ProcessId process,
                                    const std::function<Status(const PassedPlane&)>& visit) {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (trace_.profiles[i].process != process) continue;
    for (size_t part = 0; part < files_[i].size(); ++part) {
      const Status status = xspace::ForEachPlane(files_[i][part], [&](const Plane& plane) {
        return visit({i, part, plane});
      });
      if (!status.ok()) return status;
      files_[i][part] = {};  // no second copy of everything
    }
  }
  return {};
}

xspace::PlaneNote PassedProfiles::NoteOf(const PassedPlane& passed) const {
  xspace::PlaneNote note;
  note.process = trace_.profiles[passed.profile].process.value;
  note.device_name = passed.plane.name;
  for (const trace::Track& track : trace_.tracks) {
    const bool its = track.profile == static_cast<int32_t>(passed.profile) &&
                     track.kind == trace::TrackKind::kDevice &&
                     trace_.text(track.device_name) == passed.plane.name;
    if (its) note.device = track.device;
  }
  return note;
}

xspace::PlaneWriter::PassedLine PassedProfiles::EditOf(const PassedPlane& passed,
                                                       const Line& line) const {
  const trace::Profile& profile = trace_.profiles[passed.profile];
  const int64_t from = profile.parts[passed.part].counts_from;
  xspace::PlaneWriter::PassedLine edit{line.timestamp_ns, {}};
  if (line.timestamp_ns < from / 2) edit.timestamp_ns += from;
  edit.note.role = xspace::LineNote::kPassed;
  edit.note.profile = static_cast<int64_t>(passed.profile) + 1;
  edit.note.part = static_cast<int64_t>(passed.part) + 1;
  const auto python = profile.python_lines.find(line.id);
  if (python != profile.python_lines.end()) edit.note.python = python->second;
  return edit;
}

}  // namespace crosscut::exporting
