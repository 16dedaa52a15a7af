// A sink in memory, for tests of what exporters write.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/export/sink.h"

namespace crosscut::exporting {

class StringSink : public Sink {
 public:
  explicit StringSink(std::string* out) : out_(out) {}
  Status Write(std::string_view bytes) override {
    out_->append(bytes);
    return {};
  }
  Status Close() override { return {}; }
  uint64_t bytes() const override { return out_->size(); }

 private:
  std::string* out_;
};

// Appends to `out`, which must outlive it.
inline std::unique_ptr<Sink> MemorySink(std::string* out) {
  return std::make_unique<StringSink>(out);
}

}  // namespace crosscut::exporting
