// How texts go between Python and C++: one way for names and sentences, one for paths.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/utf8.h"

namespace crosscut::read {

// A path: bytes, as the system has them; os.fsencode() and os.fsdecode() in Python.
struct Path {
  std::string bytes;
};

// UTF-8 that Python takes: what is none, which only names of files in messages are, becomes U+FFFD.
inline PyObject* StrOf(std::string_view text) {
  std::string clean;
  if (!base::IsUtf8(text)) text = clean = base::CleanUtf8(text);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

}  // namespace crosscut::read

namespace nanobind::detail {

// A str; half a character in it becomes "?", as a str may hold what is no text.
template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    PyObject* bytes = PyUnicode_AsEncodedString(source.ptr(), "utf-8", "replace");
    if (bytes == nullptr) return PyErr_Clear(), false;
    value.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return true;
  }
  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return crosscut::read::StrOf(text);
  }
};

template <>
struct type_caster<crosscut::read::Path> {
  NB_TYPE_CASTER(crosscut::read::Path, const_name("str | bytes | os.PathLike"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(source.ptr(), &bytes) == 0) return PyErr_Clear(), false;
    value.bytes.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return true;
  }
  static handle from_cpp(const crosscut::read::Path& path, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(path.bytes.data(),
                                            static_cast<Py_ssize_t>(path.bytes.size()));
  }
};

}  // namespace nanobind::detail
