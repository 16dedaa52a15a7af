// What the library says: to the caller of a function that failed, and on stderr.
#pragma once

namespace crosscut::record {

// Remembers `code` and words for crosscut_error() of this thread; returns `code`.
int Fail(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));
const char* LastError();
// One line on stderr, "crosscut: ...".
void Say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace crosscut::record
