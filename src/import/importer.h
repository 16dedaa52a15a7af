// Reads what others wrote into a Trace: recorded runs and files of other tools, told apart by
// content. One entry per format in importer.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/trace/trace.h"

namespace crosscut::import {

// For an export, what only the format that was read can hold is kept, too (trace::Kept).
enum class Purpose : uint8_t { kAnalysis, kExport };

struct Input {
  std::string path;
  Purpose purpose = Purpose::kAnalysis;
  bool directory = false;
  std::string head;  // the first kHeadBytes of a file
};
inline constexpr size_t kHeadBytes = 4096;

struct Importer {
  const char* name;         // "native"
  const char* extension;    // usual end of the file's name, "" for directories
  const char* description;  // one line
  bool (*sniff)(const Input&);
  Result<trace::Trace> (*make)(const Input&);
};

// Asked in this order.
std::span<const Importer> Importers();

// The trace in `path`. kNotFound where there is nothing, kInvalid where no importer knows it; other
// errors name the place. What could be read only in part is a trace whose `gaps` say so.
Result<trace::Trace> Import(const std::string& path, Purpose purpose = Purpose::kAnalysis);

// importers
bool SniffChromeJson(const Input& input);
Result<trace::Trace> MakeChromeJson(const Input& input);
bool SniffImported(const Input& input);
Result<trace::Trace> MakeImported(const Input& input);
bool SniffNative(const Input& input);
Result<trace::Trace> MakeNative(const Input& input);
bool SniffXSpace(const Input& input);
Result<trace::Trace> MakeXSpace(const Input& input);
bool SniffText(const Input& input);
Result<trace::Trace> MakeText(const Input& input);

}  // namespace crosscut::import
