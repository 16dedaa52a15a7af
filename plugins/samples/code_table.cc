#include "code_table.h"

#include <algorithm>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "crosscut/crosscut.h"
#include "memory.h"

namespace crosscut::samples {
namespace {

// As much of a code object as is looked at.
#if PY_VERSION_HEX >= 0x030b0000
constexpr size_t kHead = offsetof(PyCodeObject, co_code_adaptive);
#else
constexpr size_t kHead = sizeof(PyCodeObject);
#endif
constexpr Py_ssize_t kMostText = 4096;
constexpr Py_ssize_t kMostLines = 1 << 20;
constexpr size_t kMostKept = 4096;  // bytes of a string's: one that is longer differs in them
constexpr uint32_t kMostPoint = 0x10ffff;
// Of code that Crosscut puts before a function's own on CPython 3.11 (record_functions.cc).
constexpr std::string_view kNotShown = "<frozen importlib of crosscut>";

void AppendUtf8(uint32_t point, std::string* out) {
  if (point < 0x80) {
    *out += static_cast<char>(point);
    return;
  }
  const int tails = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr uint8_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
  *out += static_cast<char>(kLeads[tails] | point >> (6 * tails));
  for (int i = tails - 1; i >= 0; --i) *out += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
}

// The part of an object that begins with `head`, from where its head has its length up to `end`.
// False where it is not what it was when `head` was read.
template <class Head>
bool Keep(const void* object, const Head& head, size_t length_at, size_t end, Kept* kept) {
  kept->from = static_cast<const char*>(object) + length_at;
  kept->bytes.resize(end - length_at);
  if (!ReadMemory(kept->from, kept->bytes.data(), kept->bytes.size())) return false;
  const char* const seen = reinterpret_cast<const char*>(&head) + length_at;
  return std::equal(seen, reinterpret_cast<const char*>(&head + 1), kept->bytes.begin());
}

// UTF-8 of a str that may be gone.
bool ReadText(const void* object, std::string* out, Kept* kept) {
  PyASCIIObject head;
  if (!ReadObject(object, &head) || !head.state.compact) return false;
  if (reinterpret_cast<PyObject*>(&head)->ob_type != &PyUnicode_Type) return false;
  if (head.length < 0 || head.length > kMostText) return false;
  const bool ascii = head.state.ascii != 0;
  const size_t width = ascii ? 1 : static_cast<size_t>(head.state.kind);
  if (width != 1 && width != 2 && width != 4) return false;
  const size_t begin = ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
  constexpr size_t kLengthAt = offsetof(PyASCIIObject, length);
  const size_t end = begin + static_cast<size_t>(head.length) * width;
  if (!Keep(object, head, kLengthAt, end, kept)) return false;
  out->clear();
  for (size_t at = begin - kLengthAt; at < kept->bytes.size(); at += width) {
    uint32_t point = 0;
    for (size_t i = 0; i < width; ++i)
      point |= uint32_t{static_cast<uint8_t>(kept->bytes[at + i])} << 8 * i;
    if (point > kMostPoint) return false;
    AppendUtf8(point, out);
  }
  return true;
}

bool ReadBytes(const void* object, std::string* out, Kept* kept) {
  PyVarObject head;
  if (!ReadObject(object, &head) || head.ob_base.ob_type != &PyBytes_Type) return false;
  if (head.ob_size < 0 || head.ob_size > kMostLines) return false;
  constexpr size_t kBegin = offsetof(PyBytesObject, ob_sval);
  constexpr size_t kLengthAt = offsetof(PyVarObject, ob_size);
  const size_t end = kBegin + static_cast<size_t>(head.ob_size);
  if (!Keep(object, head, kLengthAt, end, kept)) return false;
  *out = kept->bytes.substr(kBegin - kLengthAt);
  return true;
}

// "train.py:41 main".
uint32_t Intern(std::string_view file, int32_t line, std::string_view function) {
  std::string text(file);
  text += ':' + std::to_string(line) + ' ';
  text += function;
  return crosscut_intern(text.data(), text.size(), CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
}

}  // namespace

CodeTable::Identity CodeTable::IdentityOf(const void* head) {
  const auto* code = static_cast<const PyCodeObject*>(head);
#if PY_VERSION_HEX >= 0x030b0000
  const void* name = code->co_qualname;
#else
  const void* name = code->co_name;
#endif
  return {Py_TYPE(code), code->co_filename, name, code->co_linetable, code->co_firstlineno};
}

bool CodeTable::Describe(const Identity& identity, Function* function) const {
  std::string lines;
  *function = {};
  auto& [file_name, name, line_table] = function->kept;
  if (!ReadText(identity.filename, &function->path, &file_name) ||
      !ReadText(identity.name, &function->name, &name) ||
      !ReadBytes(identity.lines, &lines, &line_table)) {
    *function = {};
    return false;
  }
  function->identity = identity;
  function->shown = function->path != kNotShown;
  function->owner = own_.OwnerOf(function->path);
  function->ranges = DecodeLines(lines, identity.first_line);
  for (Kept& kept : function->kept) kept.bytes.resize(std::min(kept.bytes.size(), kMostKept));
  return true;
}

CodeTable::Line& CodeTable::LineOf(Function* function, int32_t instruction) {
  int32_t number = LineAt(function->ranges, instruction);
  if (number <= 0) number = function->identity.first_line;
  for (Line& line : function->lines) {
    if (line.number == number) return line;
  }
  const std::string_view file = function->path;
  const std::string_view shown = file.substr(file.rfind('/') + 1);
  return function->lines.emplace_back(Line{number, Intern(shown, number, function->name), 0});
}

void CodeTable::ReadCode(std::span<const Frame> frames) {
  size_t size = frames.size() * kHead;
  std::vector<Function*> known;  // each once
  for (const bool counts : {false, true}) {
    for (const Frame& frame : frames) {
      const auto found = functions_.find(frame.code);
      if (found == functions_.end()) continue;
      Function& function = found->second;
      if (!counts) function.kept_at = 0;
      if (!counts || function.kept_at != 0) continue;
      known.push_back(&function);
      function.kept_at = size;
      for (const Kept& kept : function.kept) size += kept.bytes.size();
    }
  }
  memory_.assign(size, '\0');
  std::vector<Piece> pieces;
  char* to = memory_.data();
  const auto read = [&](const void* from, size_t bytes) {
    pieces.push_back({from, to, bytes});
    to += bytes;
  };
  for (const Frame& frame : frames) read(frame.code, kHead);
  for (const Function* function : known) {
    for (const Kept& kept : function->kept) read(kept.from, kept.bytes.size());
  }
  // One that cannot be read is passed over, and the reading goes on behind it.
  for (size_t done = 0; done < pieces.size();) {
    done += ReadPieces(std::span(pieces).subspan(done)) + 1;
  }
}

bool CodeTable::HoldsStill(const Function& function) const {
  if (function.kept_at == 0) return true;
  const char* now = memory_.data() + function.kept_at;
  for (const Kept& kept : function.kept) {
    if (!std::equal(kept.bytes.begin(), kept.bytes.end(), now)) return false;
    now += kept.bytes.size();
  }
  return true;
}

bool CodeTable::Name(std::span<const Frame> frames, Stack* stack) {
  ReadCode(frames);
  Owner owner = Owner::kOther;  // of the own line
  size_t left_out = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    alignas(PyCodeObject) char head[sizeof(PyCodeObject)];
    std::copy_n(memory_.data() + i * kHead, kHead, head);
    const Identity identity = IdentityOf(head);
    if (identity.type != &PyCode_Type) continue;
    Function& function = functions_[frames[i].code];
    const bool same = function.identity == identity && HoldsStill(function);
    if (!same && !Describe(identity, &function)) continue;
    left_out += !function.shown;
    if (!function.shown) continue;
    Line& line = LineOf(&function, frames[i].instruction);
    if (line.name == 0) continue;
    stack->frames.push_back(line.name);
    if (function.owner <= owner) continue;
    owner = function.owner;
    if (line.own_name == 0) {
      line.own_name = Intern(own_.Shown(function.path), line.number, function.name);
    }
    stack->own_line = line.own_name;
  }
  return stack->frames.size() + left_out == frames.size();
}

}  // namespace crosscut::samples
