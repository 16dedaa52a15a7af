#include "src/import/native/native_collected.h"

#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "src/base/file.h"
#include "src/import/xspace/xspace_planes.h"

namespace crosscut::import {
namespace {

constexpr std::string_view kPrefix = "collected:";
// xspace_line.<thread id> = the id of the line that a profile gives this thread of Python's.
constexpr std::string_view kLinePrefix = "xspace_line.";

struct Fact {
  std::string_view format, source, file;
  int64_t begin_realtime_ns = 0, error_ns = 0;
};

// Fields are parted by tabs.
Fact Parse(std::string_view text) {
  std::string_view fields[5];
  for (std::string_view& field : fields) {
    const size_t tab = text.find('\t');
    field = text.substr(0, tab);
    text.remove_prefix(tab == std::string_view::npos ? text.size() : tab + 1);
  }
  Fact fact = {fields[0], fields[1], fields[2]};
  std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), fact.begin_realtime_ns);
  std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), fact.error_ns);
  return fact;
}

class Collected {
 public:
  Collected(const std::string& dir, const CollectedInto& into, const NativeSession& session)
      : dir_(dir), into_(into) {
    for (const NativeSession::DeviceTrack& track : session.device_tracks) {
      devices_.Take(track.device);
    }
    for (const auto& [key, value] : session.meta) {
      if (!key.starts_with(kLinePrefix)) continue;
      const std::string_view thread = std::string_view(key).substr(kLinePrefix.size());
      int64_t tid = 0, line = 0;
      std::from_chars(thread.data(), thread.data() + thread.size(), tid);
      std::from_chars(value.data(), value.data() + value.size(), line);
      python_lines_[line] = tid;
    }
  }

  // Adds to `words` what its writer says of it.
  Status Take(const Fact& fact, int number, std::vector<std::string>* words) {
    if (fact.format != "xspace" || fact.file.empty() || fact.file[0] == '.' ||
        fact.file.find('/') != std::string_view::npos) {
      return Status::Corrupt("the log names it '" + std::string(fact.file) + "', a " +
                             std::string(fact.format));
    }
    const std::string path = dir_ + "/" + std::string(fact.file);
    const auto bytes = base::ReadSmallFile(path, xspace::kMaxSpaceBytes);
    if (!bytes.ok()) return bytes.status();
    OfSource& source = sources_[std::string(fact.source)];
    source.parts.push_back({path, fact.begin_realtime_ns});
    Placement placement;
    placement.offset_ns = into_.realtime_offset_ns;
    placement.counts_from = fact.begin_realtime_ns;
    placement.steps = false;  // the process declares its own
    placement.devices = &devices_;
    placement.flow_space = uint64_t{1} << 62 | static_cast<uint64_t>(number) << 40;
    placement.python_lines = python_lines_;
    placement.tracks = &source.tracks;
    const size_t first = into_.builder->tracks();
    XSpacePlanes planes(into_.builder, into_.process, placement);
    const std::string_view message = xspace::WithoutZeros(*bytes);
    const Status status = planes.Take(message);
    for (std::string_view told : xspace::WordsOfWriter(message)) {
      if (told.ends_with('.')) told.remove_suffix(1);
      words->push_back(std::string(fact.source) + " says of its profile: " + std::string(told));
    }
    into_.builder->process(into_.process)
        .clocks.push_back(
            {into_.builder->Text(std::string(fact.source) + ": its profile"), 1, fact.error_ns});
    for (size_t i = first; i < into_.builder->tracks(); ++i) {
      source.made.push_back(trace::TrackId{static_cast<uint32_t>(i)});
    }
    source.whole = source.whole && status.ok();
    if (!status.ok()) return status;
    const std::string left_out = planes.LeftOut();
    return left_out.empty() ? Status() : Status::Corrupt(left_out);
  }

  // What was read whole can be passed on as it is.
  void Keep() {
    std::vector<trace::Profile>& profiles = into_.builder->trace().profiles;
    for (auto& [name, source] : sources_) {
      if (!source.whole || source.parts.empty()) continue;
      for (const trace::TrackId track : source.made) {
        into_.builder->track(track).track().profile = static_cast<int32_t>(profiles.size());
      }
      profiles.push_back({into_.process, std::move(source.parts), python_lines_});
    }
  }

 private:
  struct OfSource {
    HostTracks tracks;
    std::vector<trace::Profile::Part> parts;
    std::vector<trace::TrackId> made;
    bool whole = true;
  };
  const std::string& dir_;
  CollectedInto into_;
  DeviceNumbers devices_;
  std::map<int64_t, int64_t> python_lines_;
  std::map<std::string, OfSource> sources_;
};

}  // namespace

CollectedTold TakeCollected(const std::string& dir, const NativeSession& session,
                            const CollectedInto& into) {
  CollectedTold told;
  Collected collected(dir, into, session);
  int number = 0;
  for (const auto& [key, value] : session.meta) {
    if (!key.starts_with(kPrefix)) continue;
    const Fact fact = Parse(value);
    into.builder->process(into.process).profiled_beside = true;
    const Status status = collected.Take(fact, number++, &told.words);
    if (status.ok()) continue;
    told.problems.push_back(
        "the profile that " + std::string(fact.source) +
        " collected could not be read completely: " + std::string(status.message()));
  }
  collected.Keep();
  return told;
}

}  // namespace crosscut::import
