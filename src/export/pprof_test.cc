// The file as a reader of profile.proto takes it apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "src/export/exporter.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/text.h"

namespace crosscut::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Field by number of a message that has each field once.
std::map<uint32_t, uint64_t> Numbers(protozero::pbf_reader message) {
  std::map<uint32_t, uint64_t> out;
  while (message.next()) {
    if (message.wire_type() == protozero::pbf_wire_type::varint) {
      out[message.tag()] = message.get_uint64();
    } else {
      message.skip();
    }
  }
  return out;
}

// "outer;inner [main] 3 500" for each sample: the stack, its thread, its two values.
std::vector<std::string> Samples(const std::string& file) {
  std::vector<std::string> texts, out;
  std::map<uint64_t, uint64_t> names, functions;  // of functions; of locations
  for (protozero::pbf_reader profile(file); profile.next();) {
    if (profile.tag() == 6) {
      texts.push_back(profile.get_string());
      EXPECT_TRUE(simdjson::validate_utf8(texts.back()));
    } else if (profile.tag() == 5) {
      auto function = Numbers(profile.get_message());
      names[function[1]] = function[2];
    } else if (profile.tag() == 4) {
      protozero::pbf_reader location = profile.get_message();
      const uint64_t id = Numbers(location)[1];
      while (location.next()) {
        location.tag() == 4 ? void(functions[id] = Numbers(location.get_message())[1])
                            : location.skip();
      }
    } else {
      profile.skip();
    }
  }
  for (protozero::pbf_reader profile(file); profile.next(2);) {
    std::string stack, thread, values;
    for (protozero::pbf_reader sample = profile.get_message(); sample.next();) {
      if (sample.tag() == 1) {
        for (const uint64_t place : sample.get_packed_uint64()) {
          stack = texts.at(names.at(functions.at(place))) + (stack.empty() ? "" : ";" + stack);
        }
      } else if (sample.tag() == 2) {
        for (const int64_t value : sample.get_packed_int64()) values += " " + std::to_string(value);
      } else {
        auto label = Numbers(sample.get_message());
        if (texts.at(label[1]) == "thread") thread = texts.at(label[2]);
      }
    }
    out.push_back(stack + " [" + thread + "]" + values);
  }
  return out;
}

std::string Written(std::string_view text, std::string_view format = "pprof") {
  const auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  std::string out;
  EXPECT_TRUE(FindExporter(format)->write(*trace, MemorySink(&out).get()).ok());
  return out;
}

TEST(Pprof, HasCallsAndOwnTimeOfEachPathOfSpansOnEachThread) {
  EXPECT_THAT(
      Samples(Written(R"text(# crosscut trace
process p pid=7 window=1000..2000 name=train.py
thread main tid=7 base=python main lead
span "train (train.py:5)" 1000 1900 python
span aten::mm 1100 1300 framework
span aten::mm 1300 1350 framework
thread other tid=8 base=python
span aten::mm 1000 1010 framework
device gpu stream=7 device=0
span gemm 1250 1500 device
)text")),
      ElementsAre("train [main] 1 650", "train;aten::mm [main] 2 250", "aten::mm [other] 1 10"));
}

TEST(Pprof, PrefersSamples) {
  constexpr std::string_view kBoth = R"text(# crosscut trace
process p pid=7 window=0..100
thread main tid=7 base=python main lead
span work 10 90 framework
instant [sample] 15
arg covers_ns 10
arg "Python stack" "train.py:9 <module>;train.py:4 main"
arg Library libmkl.so
arg Function gemm
instant [sample] 25
arg covers_ns 11
arg "Python stack" "train.py:9 <module>;train.py:4 main"
arg Library libmkl.so
arg Function gemm
instant [sample] 30
arg covers_ns 5
arg "Python stack" "my files/a.py:3 f;no frame at all"
arg "Waits for" futex
)text";
  EXPECT_THAT(Samples(Written(kBoth)),
              UnorderedElementsAre("<module>;main;gemm [main] 2 21",
                                   "f;no frame at all;(waits for futex) [main] 1 5"));
  EXPECT_THAT(Samples(Written(kBoth, "pprof-spans")), ElementsAre("work [main] 1 80"));
}

TEST(Pprof, HasOnlyTextsThatProto3Allows) {
  EXPECT_THAT(Samples(Written("# crosscut trace\nprocess p window=0..9\nthread t base=python\n"
                              "span \"bad \xff\xc0 name\" 1 2 framework\n")),
              ElementsAre("bad \xef\xbf\xbd\xef\xbf\xbd name [t] 1 1"));
}

// Each stack with all its frames would be a square of the depth.
TEST(Pprof, OfVeryDeepCallsTheOuterPartsAreWritten) {
  constexpr int kDeep = 6000;
  std::string text = "# crosscut trace\nprocess p pid=1 window=0..20000\nthread main tid=1 main\n";
  for (int i = 0; i < kDeep; ++i) {
    text += "span f" + std::to_string(i % 7) + " " + std::to_string(i) + " " +
            std::to_string(2 * kDeep - i) + " native\n";
  }
  const auto trace = trace::ParseText(text);
  ASSERT_TRUE(trace.ok());
  std::string out;
  ASSERT_TRUE(FindExporter("pprof-spans")->write(*trace, MemorySink(&out).get()).ok());
  uint64_t frames = 0, count = 0, ns = 0;
  for (protozero::pbf_reader profile(out); profile.next(2);) {
    for (protozero::pbf_reader sample = profile.get_message(); sample.next();) {
      if (sample.tag() == 1) {
        const auto places = sample.get_packed_uint64();
        frames += static_cast<uint64_t>(std::distance(places.begin(), places.end()));
      } else if (sample.tag() == 2) {
        const auto values = sample.get_packed_int64();
        count += static_cast<uint64_t>(*values.begin());
        ns += static_cast<uint64_t>(*std::next(values.begin()));
      } else {
        sample.skip();
      }
    }
  }
  EXPECT_LT(frames, 10'000'000u);
  EXPECT_EQ(count, uint64_t{kDeep});
  EXPECT_EQ(ns, uint64_t{2 * kDeep});
}

}  // namespace
}  // namespace crosscut::exporting
