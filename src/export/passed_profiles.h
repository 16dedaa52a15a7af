// Profiles that sources collected themselves (Trace::profiles), for an XSpace: their planes go out
// as they came, in place of the tracks that were made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/trace/trace.h"
#include "src/xspace/reader.h"
#include "src/xspace/writer.h"

namespace crosscut::exporting {

// A plane of a part of a profile.
struct PassedPlane {
  size_t profile, part;
  const xspace::Plane& plane;
};

class PassedProfiles {
 public:
  // Reads the files; one that is gone, or that not every reader would take, is not passed on.
  // `none`: nothing is.
  PassedProfiles(const trace::Trace& trace, bool none);

  // Whether the track's rows go out in a plane that is passed on.
  bool Has(const trace::Track& track) const {
    return track.profile >= 0 && passed_[static_cast<size_t>(track.profile)];
  }
  // Of the planes.
  const std::set<std::string>& names() const { return names_; }
  const std::set<int64_t>& ids() const { return ids_; }
  // The greatest correlation_id in them: readers join by these, whichever plane they stand in. 0
  // where there is no room behind it.
  uint64_t last_correlation() const { return last_correlation_ >> 60 == 0 ? last_correlation_ : 0; }
  // About what is not passed on; "" where all is.
  std::string Gap() const;

  // The planes of the process's profiles, in order; once for each process.
  Status ForEachPlane(trace::ProcessId process,
                      const std::function<Status(const PassedPlane&)>& visit);
  xspace::PlaneNote NoteOf(const PassedPlane& passed) const;
  // A line as it goes out: at times of the wall clock, as all others.
  xspace::PlaneWriter::PassedLine EditOf(const PassedPlane& passed, const xspace::Line& line) const;

 private:
  bool Open(size_t profile);
  void Look(const std::string& file);

  const trace::Trace& trace_;
  std::vector<bool> passed_;                     // by profile
  std::vector<std::vector<std::string>> files_;  // by profile and part
  std::set<std::string> names_;
  std::set<int64_t> ids_;
  uint64_t last_correlation_ = 0, left_ = 0;
};

}  // namespace crosscut::exporting
