// What CUPTI's result codes mean to the user of a profiler.
#pragma once

#include <cupti_result.h>

#include <cstddef>

namespace crosscut::cupti {

struct Meaning {
  const char* name;   // "CUPTI_ERROR_NOT_INITIALIZED"
  const char* state;  // of the source: "conflict", "missing" or "failed"
  const char* words;  // why, and what to do about it
};

// Never null; codes that no header names yet get words of their own.
const Meaning& MeaningOf(CUptiResult code);

// "cuptiSubscribe: WORDS (NAME, 39)", cut to `bytes` with its NUL.
void Describe(const char* function, CUptiResult code, char* text, size_t bytes);

}  // namespace crosscut::cupti
