// Where verbs write. Nothing is written over what it is made of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/export/sink.h"

namespace crosscut::verbs {

// What a verb hands to the command line.
struct Output {
  std::string text;
  bool incomplete = false;  // part of the input could not be read; its gaps say what
};

// kUnsupported where an output at `place`, a file or a folder, would be one of the inputs, by
// whatever name, or a file that a run or cluster among them consists of. A folder inside an input
// is none of it.
Status RefuseInput(const std::string& place, const std::vector<std::string>& inputs);
// Opens `file`, where a user wants an output of `inputs` (exporting::OpenSink), if RefuseInput does
// not.
Result<std::unique_ptr<exporting::Sink>> OpenOutput(const std::string& file,
                                                    const std::vector<std::string>& inputs);
// Writes `text` there; the bytes that it took.
Result<uint64_t> WriteOutput(const std::string& file, const std::vector<std::string>& inputs,
                             std::string_view text);
// Writes `text` in place of what is at `path`, whole or not at all (exporting::OpenFileSink).
Status WriteWholeFile(const std::string& path, std::string_view text, bool durable = false);
// A folder that takes its place when it is whole. Until then it lies beside it, as base::NewFile
// does, in the folder that had the name at first, and goes again with what is in it.
class NewFolder {
 public:
  struct Options {
    mode_t mode;
    bool replace = false;  // what is at its place; else nothing may be there
  };
  static Result<NewFolder> For(std::string path, Options options);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();

  // Where it is being made, for this process alone.
  std::string path() const { return beside_ + part_; }
  Status Place();  // call it once

 private:
  NewFolder(std::string path, bool replace) : path_(std::move(path)), replace_(replace) {}
  bool Replace(const std::string& place);
  bool Rename(const std::string& from, const std::string& to, unsigned flags) const;

  int folder_ = -1;          // that it lies in
  std::string beside_;       // the path of that, by the descriptor
  std::string part_, path_;  // part_: its name there; "" once it is placed
  bool replace_;
};

// What a copy of the input at `path`, a link to it included, is called in a folder of several: the
// prefix, and as much of the end of its name as fits.
std::string NameOfCopy(const std::string& prefix, const std::string& path);
// "3 KiB": the last one may be begun.
std::string KibiBytes(uint64_t bytes);
// Whether OpenOutput writes to this process's stdout there.
bool IsStandardOutput(const std::string& path);

}  // namespace crosscut::verbs
