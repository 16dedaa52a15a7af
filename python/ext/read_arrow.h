// A table as an Arrow C data interface stream: the two structs every Arrow reader understands, so
// that pandas, Polars, DuckDB and the rest take tables without a library of Arrow's in between.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/analyze/table.h"
#include "src/base/status.h"

// The structs of the Arrow C data and stream interfaces; their layout is fixed by Arrow.
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_NULLABLE 2
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif
}

namespace crosscut::read {

using SharedTable = std::shared_ptr<const analyze::Table>;

// Each fills `out`, which then owns what it holds until its release is called, and which keeps the
// table alive: integers become int64 (kMissing: null), reals float64 (NaN: null), texts utf8.
void ExportSchema(const SharedTable& table, ArrowSchema* out);
void ExportArray(const SharedTable& table, ArrowArray* out);
// A stream of one array (none where the table has no rows).
void ExportStream(const SharedTable& table, ArrowArrayStream* out);

// The inverse for a stream of columns of these types, utf8 also with 64-bit offsets; a text that is
// null becomes "". kInvalid for other types, and with what the stream says where it fails. The
// stream stays the caller's.
Result<analyze::Table> ImportStream(std::string name, ArrowArrayStream* stream);

}  // namespace crosscut::read
