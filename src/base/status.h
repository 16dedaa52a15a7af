// Errors are values and have the place in their message ("p42.crosscut: chunk 17 at byte 4096:
// checksum differs"). OK is a null pointer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crosscut {

class [[nodiscard]] Status {
 public:
  enum class Code { kOk, kInvalid, kNotFound, kIo, kCorrupt, kLimit, kUnsupported };

  Status() = default;  // OK
  static Status Invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }
  static Status NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
  static Status Io(std::string message) { return {Code::kIo, std::move(message)}; }
  static Status Corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }
  static Status Limit(std::string message) { return {Code::kLimit, std::move(message)}; }
  static Status Unsupported(std::string m) { return {Code::kUnsupported, std::move(m)}; }

  bool ok() const { return state_ == nullptr; }
  Code code() const { return state_ ? state_->code : Code::kOk; }
  std::string_view message() const { return state_ ? std::string_view(state_->message) : ""; }
  // The same error with "place: " before its message; OK stays OK.
  Status At(std::string_view place) const {
    return ok() ? Status() : Status(code(), std::string(place) + ": " + state_->message);
  }

 private:
  struct State {
    Code code;
    std::string message;
  };
  Status(Code code, std::string message)
      : state_(std::make_shared<const State>(State{code, std::move(message)})) {}
  std::shared_ptr<const State> state_;
};

// A value, or the error that prevented it. value() requires ok().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace crosscut
