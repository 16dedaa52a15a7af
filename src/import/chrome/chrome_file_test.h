// For tests: writes and imports files in Chrome's format.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "src/import/importer.h"

namespace crosscut::import {

class ChromeFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-chrome-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The trace of a bare array of these events.
  trace::Trace Of(const std::string& events) { return OfText("[" + events + "]"); }
  trace::Trace OfText(const std::string& text, const std::string& name = "trace.json") {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    Result<trace::Trace> trace = Import(folder_ + "/" + name);
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return trace.ok() ? std::move(*trace) : trace::Trace();
  }

  std::string folder_;
};

}  // namespace crosscut::import
