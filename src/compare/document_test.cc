// What a comparison says in words: which counts changed, and in what the runs' settings differ.
#include "src/compare/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/compare/test_recording.h"

namespace crosscut::compare {
namespace {

using analyze::testing::TestTrace;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A process of 24 steps, in each of which operator i ("op0", "op1", ...) is called calls[i] times.
void AddSteps(const std::vector<int>& calls, const char* key, TestTrace* test) {
  constexpr int kSteps = 24;
  TestTrace& t = *test;
  const trace::ProcessId process = t.Process(key, 0, 10'000 * kSteps);
  const trace::TrackId thread = t.Thread(process);
  t.process(process).lead = thread;
  for (int64_t s = 0; s < kSteps; ++s) {
    int64_t at = 10'000 * s;
    t.Step(process, at, at + 10'000, 2);
    for (size_t i = 0; i < calls.size(); ++i) {
      const auto name =
          t.Name("op" + std::to_string(i), trace::Kind::kSpan, trace::Layer::kFramework);
      for (int call = 0; call < calls[i]; ++call, at += 10) t.Span(thread, at, at + 5, name);
    }
  }
}

TestTrace Steps(const std::vector<int>& calls) {
  TestTrace t;
  AddSteps(calls, "p1", &t);
  return t;
}

const report::Section* SectionOf(const report::Document& document, std::string_view begin) {
  const auto found = std::find_if(document.sections.begin(), document.sections.end(),
                                  [&](const auto& s) { return s.heading.starts_with(begin); });
  return found == document.sections.end() ? nullptr : &*found;
}

TEST(Document, ListsTheCountsThatChangedAndSaysHowManyMore) {
  Recording a(Steps({1, 1, 1, 1, 1, 1, 1, 1})), b(Steps({2, 3, 4, 5, 6, 7, 8, 1}));
  const report::Document document = MakeDocument(CompareTwo(a, b), {});
  const report::Section* section = SectionOf(document, "Counts per step");
  ASSERT_NE(section, nullptr);
  EXPECT_EQ(section->heading, "Counts per step that changed");
  // All operators together, then the five names of the largest changes.
  std::vector<std::string> rows;
  for (const auto& row : section->grid.rows) rows.push_back(row[0] + " " + row[1] + " " + row[2]);
  EXPECT_THAT(rows,
              ElementsAre("operators 8 36", "op6 1 8", "op5 1 7", "op4 1 6", "op3 1 5", "op2 1 4"));
  EXPECT_THAT(section->after, ElementsAre("2 more names: table diff_step_names."));
}

TEST(Document, CountsOfSeveralProcessesHaveTheirNames) {
  const auto two = [](int calls) {
    TestTrace t = Steps({calls});
    AddSteps({calls}, "p2", &t);
    return t;
  };
  Recording a(two(1)), b(two(2));
  const report::Document document = MakeDocument(CompareTwo(a, b), {});
  const report::Section* section = SectionOf(document, "Counts per step");
  ASSERT_NE(section, nullptr);
  EXPECT_EQ(section->grid.heads[0].text, "process");
  std::set<std::string> rows;
  for (const auto& row : section->grid.rows) {
    EXPECT_EQ(row.size(), section->grid.heads.size());
    EXPECT_TRUE(rows.insert(row[0] + " " + row[1]).second) << row[0] << " " << row[1];
  }
  EXPECT_EQ(rows.size(), 4);
}

TEST(Document, SaysThatNoCountChangedOnlyWhereThereAreSome) {
  Recording some(Steps({1, 2})), none(Steps({}));
  const report::Document same = MakeDocument(CompareTwo(some, some), {});
  const report::Section* section = SectionOf(same, "Counts per step");
  ASSERT_NE(section, nullptr);
  EXPECT_EQ(section->heading, "Counts per step");
  EXPECT_THAT(section->grid.rows, IsEmpty());
  ASSERT_EQ(section->before.size(), 1);
  EXPECT_TRUE(section->before[0].starts_with("None changed"));
  const report::Document nothing = MakeDocument(CompareTwo(none, none), {});
  EXPECT_EQ(SectionOf(nothing, "Counts per step"), nullptr);
}

// Operations of a step; a part of those with `extra` is a span of that name. In every other step
// they take `seldom` longer.
struct Length {
  const char* operation;
  int64_t ns;
  bool extra = false;
};
TestTrace Operations(const std::vector<Length>& lengths, int64_t seldom = 0) {
  TestTrace t;
  const trace::ProcessId process = t.Process("p1", 0, 10'000'000);
  const trace::TrackId thread = t.Thread(process);
  t.process(process).lead = thread;
  const auto work = t.Name("work", trace::Kind::kSpan, trace::Layer::kPython);
  const auto extra = t.Name("extra", trace::Kind::kSpan, trace::Layer::kFramework);
  for (int64_t s = 0, at = 0; s < 24; ++s) {
    const int64_t begin = at;
    for (const Length& length : lengths) {
      const int64_t end = at + length.ns + (s % 2 == 0 ? seldom : 0);
      t.Operation(thread, length.operation, at, end);
      if (length.extra) t.Span(thread, end - 3000, end, extra);
      at = end;
    }
    t.Span(thread, begin, at, work);
    t.Step(process, begin, at, 3);
  }
  return t;
}

std::string AfterStep(const report::Document& document) {
  const report::Section* section = SectionOf(document, "A step of");
  std::string out;
  for (const std::string& sentence :
       section == nullptr ? std::vector<std::string>() : section->after) {
    out += sentence + "\n";
  }
  return out;
}

// A function that is called in one operation says nothing of another one that grew as much.
TEST(Document, NamesWhatIsCalledInTheOperationItself) {
  const auto made = [](int64_t ns, bool extra) {
    return Operations({{"data", ns},
                       {"model", ns, extra},
                       {"act", 9000},
                       {"log", 9000},
                       {"save", 9000},
                       {"rest", 9000}});
  };
  Recording a(made(10'000, false)), b(made(13'000, true));
  const std::string text = AfterStep(MakeDocument(CompareTwo(a, b), {}));
  EXPECT_NE(text.find("In model: extra, +3.000"), std::string::npos) << text;
  EXPECT_EQ(text.find("In data: extra"), std::string::npos) << text;
}

TEST(Document, OfEqualRunsNoneHasMoreBeyondUndisturbedSteps) {
  Recording busy(Operations({{"data", 10'000}, {"model", 10'000}}, 20'000));
  const std::string text = AfterStep(MakeDocument(CompareTwo(busy, busy), {}));
  EXPECT_NE(text.find("The mean step took 1.96 (A) and 1.96 times (B)"), std::string::npos) << text;
  EXPECT_EQ(text.find("Of what B has"), std::string::npos) << text;
}

// Allocations are no spans, which have names.
TEST(Document, ListsCountsThatChangedWhereNothingHasAName) {
  const auto made = [](int count) {
    std::string text = "process p window=0..100000\nthread main tid=1 main\n";
    for (int64_t s = 0; s < 24; ++s) {
      text += "step step " + std::to_string(1000 * s) + " " + std::to_string(1000 * s + 1000) +
              " level=2\n";
      for (int i = 0; i < count; ++i) {
        for (const char* bytes : {"64", "-64"}) {
          text += "instant [memory] " + std::to_string(1000 * s + i) + "\narg Bytes " + bytes +
                  "\narg \"Device Type\" 1\narg \"Device Id\" 0\n";
        }
      }
    }
    return text;
  };
  const Recording a(made(1)), b(made(2));
  const report::Document document = MakeDocument(CompareTwo(a, b), {});
  const report::Section* section = SectionOf(document, "Counts per step that changed");
  ASSERT_NE(section, nullptr);
  EXPECT_EQ(section->grid.rows[0][0], "allocated bytes");
  EXPECT_EQ(section->grid.rows[1][0], "allocations");
}

TEST(Differences, AreThoseOfSettingsAndSourcesAndOfNothingElse) {
  const auto with = [](const std::vector<std::pair<const char*, const char*>>& facts,
                       const char* state) {
    TestTrace t = Steps({1});
    trace::Process& process = t.trace().processes[0];
    auto& strings = t.trace().strings;
    for (const auto& [key, value] : facts) {
      process.meta.emplace_back(strings.Intern(key), strings.Intern(value));
    }
    trace::Source source;
    source.name = strings.Intern("pytorch");
    source.version = strings.Intern("2.13");
    source.state = strings.Intern(state);
    process.sources.push_back(source);
    return t;
  };
  Recording a(with({{"python", "3.11"}, {"plan", "full"}, {"policy", "x"}, {"script", "a"}}, "on"));
  Recording b(with({{"python", "3.12"}, {"plan", "full"}, {"memory_bytes", "9"}, {"script", "b"}},
                   "missing"));
  Recording off(with({{"python", "3.11"}, {"plan", "light"}, {"policy", "x"}}, "off"));
  EXPECT_THAT(CompareTwo(a, a).differences, IsEmpty());
  EXPECT_THAT(CompareTwo(a, b).differences,
              ElementsAre("memory_bytes: A none, B 9", "policy: A x, B none",
                          "python: A 3.11, B 3.12", "pytorch: A 2.13 on, B 2.13 missing"));
  EXPECT_THAT(CompareTwo(off, a).differences,
              ElementsAre("plan: A light, B full", "pytorch: A none, B 2.13 on"));
}

}  // namespace
}  // namespace crosscut::compare
