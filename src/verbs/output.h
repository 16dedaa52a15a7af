// Where verbs write. Nothing is written over what it is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/export/sink.h"

namespace crosscut::verbs {

// What a verb hands to the command line.
struct Output {
  std::string text;
  bool incomplete = false;  // part of the input could not be read; its gaps say what
};

// Opens `file`, where a user wants an output of `inputs` (exporting::OpenSink). kUnsupported where
// it is one of them, by whatever name, or a file that a run or cluster among them consists of.
Result<std::unique_ptr<exporting::Sink>> OpenOutput(const std::string& file,
                                                    const std::vector<std::string>& inputs);
// Writes `text` there; the bytes that it took.
Result<uint64_t> WriteOutput(const std::string& file, const std::vector<std::string>& inputs,
                             std::string_view text);
// Writes `text` in place of what is at `path`, whole or not at all (exporting::OpenFileSink).
Status WriteWholeFile(const std::string& path, std::string_view text, bool durable = false);
// What a copy of the input at `path`, a link to it included, is called in a folder of several: the
// prefix, and as much of the end of its name as fits.
std::string NameOfCopy(const std::string& prefix, const std::string& path);
// Whether OpenOutput writes to this process's stdout there.
bool IsStandardOutput(const std::string& path);

}  // namespace crosscut::verbs
