#include "python/ext/read_arrow.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace crosscut::read {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Reals;
using analyze::Texts;

struct SchemaOwner {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void ReleaseSchema(ArrowSchema* schema) {
  auto* owner = static_cast<SchemaOwner*>(schema->private_data);
  for (ArrowSchema* child : owner->pointers) {
    if (child->release != nullptr) child->release(child);
  }
  delete owner;
  schema->release = nullptr;
}

void FillSchema(const char* format, const std::string& name, size_t children, ArrowSchema* out) {
  auto* owner = new SchemaOwner{name, std::vector<ArrowSchema>(children), {}};
  for (ArrowSchema& child : owner->children) owner->pointers.push_back(&child);
  *out = {};
  out->format = format;
  out->name = owner->name.c_str();
  out->flags = children == 0 ? ARROW_FLAG_NULLABLE : 0;
  out->n_children = static_cast<int64_t>(children);
  out->children = owner->pointers.data();
  out->release = ReleaseSchema;
  out->private_data = owner;
}

// Texts of one column may hold more than 2 GiB only in the wide form.
bool IsWide(const Texts& texts) {
  uint64_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes > INT32_MAX;
}

const char* FormatOf(const Column& column) {
  if (std::holds_alternative<Integers>(column.cells)) return "l";
  if (std::holds_alternative<Reals>(column.cells)) return "g";
  return IsWide(std::get<Texts>(column.cells)) ? "U" : "u";
}

struct ArrayOwner {
  SharedTable table;
  std::vector<uint8_t> valid;    // a bit per cell; empty: all are valid
  std::vector<int32_t> offsets;  // of texts
  std::vector<int64_t> wide_offsets;
  std::string text;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

void ReleaseArray(ArrowArray* array) {
  auto* owner = static_cast<ArrayOwner*>(array->private_data);
  for (ArrowArray* child : owner->pointers) {
    if (child->release != nullptr) child->release(child);
  }
  delete owner;
  array->release = nullptr;
}

void Finish(ArrayOwner* owner, int64_t length, int64_t nulls, ArrowArray* out) {
  *out = {};
  out->length = length;
  out->null_count = nulls;
  out->n_buffers = static_cast<int64_t>(owner->buffers.size());
  out->n_children = static_cast<int64_t>(owner->pointers.size());
  out->buffers = owner->buffers.data();
  out->children = owner->pointers.data();
  out->release = ReleaseArray;
  out->private_data = owner;
}

template <class Cells, class IsMissing>
int64_t MarkValid(const Cells& cells, ArrayOwner* owner, IsMissing is_missing) {
  int64_t nulls = 0;
  for (const auto& cell : cells) nulls += is_missing(cell);
  if (nulls == 0) return 0;
  owner->valid.assign((cells.size() + 7) / 8, 0);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!is_missing(cells[i])) owner->valid[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
  }
  return nulls;
}

template <class Offset>
void FillTexts(const Texts& texts, std::vector<Offset>* offsets, std::string* all) {
  offsets->reserve(texts.size() + 1);
  offsets->push_back(0);
  for (const std::string& text : texts) {
    *all += text;
    offsets->push_back(static_cast<Offset>(all->size()));
  }
}

void ExportColumn(const SharedTable& table, const Column& column, ArrowArray* out) {
  auto* owner = new ArrayOwner;
  owner->table = table;
  int64_t nulls = 0;
  const void* cells = nullptr;
  if (const auto* integers = std::get_if<Integers>(&column.cells)) {
    nulls = MarkValid(*integers, owner, [](int64_t v) { return v == analyze::kMissing; });
    cells = integers->data();
  } else if (const auto* reals = std::get_if<Reals>(&column.cells)) {
    nulls = MarkValid(*reals, owner, [](double v) { return std::isnan(v); });
    cells = reals->data();
  }
  owner->buffers.push_back(owner->valid.empty() ? nullptr : owner->valid.data());
  if (const auto* texts = std::get_if<Texts>(&column.cells)) {
    if (IsWide(*texts)) {
      FillTexts(*texts, &owner->wide_offsets, &owner->text);
      owner->buffers.push_back(owner->wide_offsets.data());
    } else {
      FillTexts(*texts, &owner->offsets, &owner->text);
      owner->buffers.push_back(owner->offsets.data());
    }
    cells = owner->text.data();
  }
  owner->buffers.push_back(cells);
  Finish(owner, static_cast<int64_t>(column.size()), nulls, out);
}

struct StreamOwner {
  SharedTable table;
  bool given = false;
};

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  ExportSchema(static_cast<StreamOwner*>(stream->private_data)->table, out);
  return 0;
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  auto* owner = static_cast<StreamOwner*>(stream->private_data);
  *out = {};
  if (!owner->given && owner->table->rows() > 0) ExportArray(owner->table, out);
  owner->given = true;
  return 0;
}

const char* GetLastError(ArrowArrayStream*) { return nullptr; }

void ReleaseStream(ArrowArrayStream* stream) {
  delete static_cast<StreamOwner*>(stream->private_data);
  stream->release = nullptr;
}

// What a stream gave, until it is done with.
template <class T>
struct Held : T {
  Held() : T{} {}
  Held(const Held&) = delete;
  ~Held() {
    if (this->release != nullptr) this->release(this);
  }
};

bool IsNull(const ArrowArray& cells, int64_t at) {
  const auto* valid = static_cast<const uint8_t*>(cells.buffers[0]);
  return valid != nullptr && ((valid[at / 8] >> (at % 8)) & 1) == 0;
}

template <class Cell>
void AppendNumbers(const ArrowArray& cells, Cell missing, std::vector<Cell>* out) {
  const auto* from = static_cast<const Cell*>(cells.buffers[1]);
  for (int64_t at = cells.offset; at < cells.offset + cells.length; ++at) {
    out->push_back(IsNull(cells, at) ? missing : from[at]);
  }
}

template <class Offset>
void AppendTexts(const ArrowArray& cells, Texts* out) {
  const auto* begins = static_cast<const Offset*>(cells.buffers[1]);
  const auto* all = static_cast<const char*>(cells.buffers[2]);
  for (int64_t at = cells.offset; at < cells.offset + cells.length; ++at) {
    const auto size = IsNull(cells, at) ? 0 : static_cast<size_t>(begins[at + 1] - begins[at]);
    out->push_back({size == 0 ? "" : all + begins[at], size});
  }
}

void Append(const ArrowArray& cells, bool wide, Column* column) {
  if (auto* integers = std::get_if<Integers>(&column->cells)) {
    AppendNumbers(cells, analyze::kMissing, integers);
  } else if (auto* reals = std::get_if<Reals>(&column->cells)) {
    AppendNumbers(cells, std::nan(""), reals);
  } else if (wide) {
    AppendTexts<int64_t>(cells, &std::get<Texts>(column->cells));
  } else {
    AppendTexts<int32_t>(cells, &std::get<Texts>(column->cells));
  }
}

bool MakeColumn(const ArrowSchema& schema, Column* out) {
  const std::string_view format = schema.format;
  out->name = schema.name;
  if (format == "l") out->cells = Integers();
  if (format == "g") out->cells = Reals();
  if (format == "u" || format == "U") out->cells = Texts();
  return format == "l" || format == "g" || format == "u" || format == "U";
}

}  // namespace

Result<analyze::Table> ImportStream(std::string name, ArrowArrayStream* stream) {
  analyze::Table table{std::move(name), {}, {}};
  const auto failed = [&] {
    const char* why = stream->get_last_error(stream);
    return Status::Invalid("table " + table.name + ": " + (why == nullptr ? "no Arrow" : why));
  };
  Held<ArrowSchema> schema;
  if (stream->get_schema(stream, &schema) != 0) return failed();
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    if (!MakeColumn(child, &table.columns.emplace_back())) {
      return Status::Invalid("table " + table.name + ": column " + child.name +
                             " is of Arrow's type " + child.format);
    }
  }
  for (;;) {
    Held<ArrowArray> batch;
    if (stream->get_next(stream, &batch) != 0) return failed();
    if (batch.release == nullptr) return table;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      Append(*batch.children[i], *schema.children[i]->format == 'U', &table.columns[i]);
    }
  }
}

void ExportSchema(const SharedTable& table, ArrowSchema* out) {
  FillSchema("+s", "", table->columns.size(), out);
  for (size_t i = 0; i < table->columns.size(); ++i) {
    FillSchema(FormatOf(table->columns[i]), table->columns[i].name, 0, out->children[i]);
  }
}

void ExportArray(const SharedTable& table, ArrowArray* out) {
  auto* owner = new ArrayOwner;
  owner->table = table;
  owner->buffers.push_back(nullptr);
  owner->children.resize(table->columns.size());
  for (size_t i = 0; i < table->columns.size(); ++i) {
    ExportColumn(table, table->columns[i], &owner->children[i]);
    owner->pointers.push_back(&owner->children[i]);
  }
  Finish(owner, static_cast<int64_t>(table->rows()), 0, out);
}

void ExportStream(const SharedTable& table, ArrowArrayStream* out) {
  *out = {};
  out->get_schema = GetSchema;
  out->get_next = GetNext;
  out->get_last_error = GetLastError;
  out->release = ReleaseStream;
  out->private_data = new StreamOwner{table, false};
}

}  // namespace crosscut::read
