// For tests: writes and imports files in Chrome's format.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>

#include "src/base/testing/folder.h"
#include "src/import/importer.h"

namespace crosscut::import {

class ChromeFileTest : public ::testing::Test {
 protected:
  // The trace of a bare array of these events.
  trace::Trace Of(const std::string& events) { return OfText("[" + events + "]"); }
  trace::Trace OfText(const std::string& text, const std::string& name = "trace.json") {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    Result<trace::Trace> trace = Import(folder_ + "/" + name);
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return trace.ok() ? std::move(*trace) : trace::Trace();
  }

  base::TestFolder made_;
  const std::string folder_ = made_.path();
};

}  // namespace crosscut::import
