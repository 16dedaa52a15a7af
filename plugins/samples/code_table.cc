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

// UTF-8 of a str that may be gone.
bool ReadText(const void* object, std::string* out) {
  PyASCIIObject head;
  if (!ReadObject(object, &head) || !head.state.compact) return false;
  if (reinterpret_cast<PyObject*>(&head)->ob_type != &PyUnicode_Type) return false;
  if (head.length < 0 || head.length > kMostText) return false;
  const bool ascii = head.state.ascii != 0;
  const size_t width = ascii ? 1 : static_cast<size_t>(head.state.kind);
  if (width != 1 && width != 2 && width != 4) return false;
  const size_t begin = ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
  std::string bytes(static_cast<size_t>(head.length) * width, '\0');
  if (!ReadMemory(static_cast<const char*>(object) + begin, bytes.data(), bytes.size())) {
    return false;
  }
  out->clear();
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint32_t point = 0;
    for (size_t i = 0; i < width; ++i)
      point |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << 8 * i;
    if (point > kMostPoint) return false;
    AppendUtf8(point, out);
  }
  return true;
}

bool ReadBytes(const void* object, std::string* out) {
  PyVarObject head;
  if (!ReadObject(object, &head) || head.ob_base.ob_type != &PyBytes_Type) return false;
  if (head.ob_size < 0 || head.ob_size > kMostLines) return false;
  out->resize(static_cast<size_t>(head.ob_size));
  return ReadMemory(static_cast<const char*>(object) + offsetof(PyBytesObject, ob_sval),
                    out->data(), out->size());
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
  if (!ReadText(identity.filename, &function->path) || !ReadText(identity.name, &function->name)) {
    return false;
  }
  function->identity = identity;
  function->shown = function->path != kNotShown;
  function->owner = own_.OwnerOf(function->path);
  if (ReadBytes(identity.lines, &lines)) function->ranges = DecodeLines(lines, identity.first_line);
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

bool CodeTable::Name(std::span<const Frame> frames, Stack* stack) {
  heads_.assign(frames.size() * kHead, '\0');
  std::vector<Piece> pieces;
  for (size_t i = 0; i < frames.size(); ++i) {
    pieces.push_back({frames[i].code, heads_.data() + i * kHead, kHead});
  }
  // One that cannot be read is passed over, and the reading goes on behind it.
  for (size_t done = 0; done < pieces.size();) {
    done += ReadPieces(std::span(pieces).subspan(done)) + 1;
  }
  Owner owner = Owner::kOther;  // of the own line
  size_t left_out = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    alignas(PyCodeObject) char head[sizeof(PyCodeObject)];
    std::copy_n(heads_.data() + i * kHead, kHead, head);
    const Identity identity = IdentityOf(head);
    if (identity.type != &PyCode_Type) continue;
    Function& function = functions_[frames[i].code];
    if (function.identity != identity && !Describe(identity, &function)) continue;
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
