// Files for tests of what writes to one: one in memory and one that fails on demand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/file.h"

namespace crosscut::base {

// A file in memory. `contents` must outlive it; tests look at it.
class InMemoryFile : public File {
 public:
  explicit InMemoryFile(std::vector<std::byte>* contents) : contents_(contents) {}
  Status Append(std::span<const std::byte> bytes) override {
    contents_->insert(contents_->end(), bytes.begin(), bytes.end());
    return {};
  }
  Status Truncate(uint64_t size) override {
    if (size > contents_->size()) return Status::Invalid("memory: would grow");
    contents_->resize(size);
    return {};
  }
  Status Sync() override { return {}; }
  Status ReadAt(uint64_t offset, std::span<std::byte> bytes) const override {
    if (offset > contents_->size() || bytes.size() > contents_->size() - offset) {
      return Status::Io("memory: read past the end");
    }
    if (!bytes.empty()) memcpy(bytes.data(), contents_->data() + offset, bytes.size());
    return {};
  }
  uint64_t size() const override { return contents_->size(); }

 private:
  std::vector<std::byte>* contents_;
};

// Passes calls to `under`, and fails with kIo "injected" once `budget` bytes were appended in all;
// the append that crosses the budget writes up to it. `fail_truncate` makes Truncate fail.
class BudgetFile : public File {
 public:
  BudgetFile(std::unique_ptr<File> under, uint64_t budget, bool fail_truncate)
      : under_(std::move(under)), budget_(budget), fail_truncate_(fail_truncate) {}
  Status Append(std::span<const std::byte> bytes) override {
    const size_t taken = std::min<uint64_t>(bytes.size(), budget_);
    budget_ -= taken;
    Status status = under_->Append(bytes.first(taken));
    if (!status.ok()) return status;
    return taken == bytes.size() ? Status() : Status::Io("injected");
  }
  Status Truncate(uint64_t size) override {
    return fail_truncate_ ? Status::Io("injected") : under_->Truncate(size);
  }
  Status Sync() override { return under_->Sync(); }
  Status ReadAt(uint64_t offset, std::span<std::byte> bytes) const override {
    return under_->ReadAt(offset, bytes);
  }
  uint64_t size() const override { return under_->size(); }

 private:
  std::unique_ptr<File> under_;
  uint64_t budget_;
  bool fail_truncate_;
};

inline std::unique_ptr<File> MemoryFile(std::vector<std::byte>* contents) {
  return std::make_unique<InMemoryFile>(contents);
}

inline std::unique_ptr<File> FailingFile(std::unique_ptr<File> under, uint64_t budget,
                                         bool fail_truncate = false) {
  return std::make_unique<BudgetFile>(std::move(under), budget, fail_truncate);
}

}  // namespace crosscut::base
