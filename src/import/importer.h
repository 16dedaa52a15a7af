// Reads recorded runs and files of other tools into a Trace; their content tells the formats apart.
// importer.cc has an entry for each format.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/trace/trace.h"

namespace crosscut::import {

enum class Purpose : uint8_t {
  kAnalysis,
  kExport,  // the importer also keeps what only the format read can hold (trace::Kept)
  kFacts,   // of a recorded run, only what it states of itself and its processes; their tracks are
            // incomplete
};

struct Input {
  std::string path;
  Purpose purpose = Purpose::kAnalysis;
  bool directory = false;
  std::string head;  // the first kHeadBytes of a file; "" of a directory
};
inline constexpr size_t kHeadBytes = 4096;

struct Importer {
  const char* name;         // "native"
  const char* extension;    // the usual end of the file's name, "" for directories
  const char* description;  // one line
  bool (*sniff)(const Input&);
  Result<trace::Trace> (*make)(const Input&);
};

// All importers, in the order in which they are asked.
std::span<const Importer> Importers();

// What `path` is, and the importer that knows it.
struct Recognized {
  Input input;
  const Importer* importer = nullptr;
};
// Reads no more than the head of a file. Errors as of Import().
Result<Recognized> Recognize(const std::string& path);

// The trace in `path`. kNotFound where there is nothing, kInvalid where no importer knows it, with
// what it is and what to do (foreign.h); other errors name the place. If a part could not be read,
// the trace's `gaps` say so.
Result<trace::Trace> Import(const std::string& path, Purpose purpose = Purpose::kAnalysis);

// The functions of the importers.
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
