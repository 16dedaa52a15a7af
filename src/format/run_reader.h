// Opens a run directory and yields what every process recorded, from its log and from its ring,
// each event once. It works on finished runs, on runs whose processes were killed, and on runs that
// are still recording. It changes nothing on disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/format/process_reader.h"

namespace crosscut::format {

struct RunFolder;  // ring_search.h

class RunReader {
 public:
  // kNotFound where `dir` is no directory; kInvalid where it holds neither run.json nor a log.
  static Result<std::unique_ptr<RunReader>> Open(const std::string& dir);
  ~RunReader();

  const RunFolder& folder() const;
  const std::string& dir() const;
  const std::string& run_json() const;  // its text; "" where the run has none
  // "path: why" of rings that name this run but were not accepted, because others could have made
  // them up. See ring_search.h.
  const std::vector<std::string>& refused_rings() const;
  // The processes by start tick, then key. A process whose files cannot be read at all is among
  // them, with info().problem set.
  std::vector<ProcessReader*> processes();

 private:
  struct State;
  explicit RunReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
