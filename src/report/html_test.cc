#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/analyze/gaps.h"
#include "src/analyze/tables.h"
#include "src/analyze/timeline/make_timeline.h"
#include "src/report/document.h"
#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/page_bundle.h"
#include "src/report/process_titles.h"
#include "src/report/shown_text.h"
#include "src/report/testing/sample_report.h"
#include "src/report/testing/xss_corpus.h"
#include "src/report/views.h"
#include "src/trace/text.h"

namespace crosscut::report {
namespace {

using analyze::Integers;
using analyze::Table;
using analyze::Texts;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The elements and attributes of each page, in order, as Python's html.parser sees them: pages of
// the same shape give the same text.
std::vector<std::string> Shapes(const std::vector<std::string>& pages) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("crosscut-html-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < pages.size(); ++i) {
    std::ofstream(folder / (std::to_string(i) + ".html"), std::ios::binary) << pages[i];
  }
  std::ofstream(folder / "shape.py") << R"py(
import html.parser, sys
class Shape(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.out = []
    def handle_starttag(self, tag, attributes):
        self.out.append(tag + " " + " ".join(name for name, _ in attributes))
    def handle_endtag(self, tag): self.out.append("/" + tag)
    def handle_comment(self, data): self.out.append("comment")
    def handle_pi(self, data): self.out.append("instruction")
    def unknown_decl(self, data): self.out.append("declaration")
for i in range(int(sys.argv[2])):
    parser = Shape()
    with open(f"{sys.argv[1]}/{i}.html", encoding="utf-8", errors="strict", newline="") as page:
        parser.feed(page.read())
    parser.close()
    with open(f"{sys.argv[1]}/{i}.shape", "w") as out:
        out.write("\n".join(parser.out))
)py";
  const std::string command = "python3 " + (folder / "shape.py").string() + " " + folder.string() +
                              " " + std::to_string(pages.size());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::vector<std::string> shapes;
  for (size_t i = 0; i < pages.size(); ++i) {
    std::ifstream in(folder / (std::to_string(i) + ".shape"));
    shapes.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::filesystem::remove_all(folder);
  return shapes;
}

Table TableOfText(std::string_view text, const char* name) {
  const auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  const analyze::Context context(*trace);
  auto table = analyze::ComputeTable(*trace, context, name);
  EXPECT_TRUE(table.ok());
  return std::move(*table);
}

constexpr const char* kFamily = R"(
process trainer window=0..1000 name=<b>train</b>
thread main base=python
phase collect 0 400
phase learn 400 1000
device gpu0 device=0 stream=7
span kernel 500 800 device
process worker window=100..350 parent=trainer
thread main base=python
)";

TEST(HtmlProcesses, DrawThreeBarsForEachPhaseAndAnArrowToEachChild) {
  const Table phases = TableOfText(kFamily, "phases");
  const Table processes = TableOfText(kFamily, "processes");
  const std::string page = ProcessesHtml({&phases, &processes}, 0);
  EXPECT_EQ(Count(page, "<rect x="), 9u);
  EXPECT_EQ(Count(page, "<path "), 1u);
  EXPECT_THAT(page, HasSubstr("learn: from 400 ns to 1.000 µs, CPU 600 ns, device 300 ns"));
  EXPECT_THAT(page, HasSubstr("<rect x=\"514\" y=\"30\" width=\"243\" height=\"12\""));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;train"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
}

TEST(HtmlProcesses, DrawStripsOfWhatProcessesTook) {
  const std::string text = std::string(kFamily) + R"(
count crosscut.resident_bytes 99 1000
count crosscut.cpu_ns 100 0
count crosscut.resident_bytes 199 4000
count crosscut.cpu_ns 200 200
count crosscut.resident_bytes 299 2000
count crosscut.cpu_ns 300 250
)";
  const Table phases = TableOfText(text, "phases");
  const Table utilization = TableOfText(text, "utilization");
  const std::string page = ProcessesHtml({&phases, nullptr, &utilization}, 0);
  // The worker's lane, of 80, from 100 to 300 ns: 200 % fill the strip, then 50 %.
  EXPECT_EQ(Count(page, "<path class=\"strip\""), 2u) << "it has no device";
  EXPECT_THAT(page, HasSubstr("<title>CPU: at most 200 % of a core</title>"));
  EXPECT_THAT(page, HasSubstr("d=\"M271 140H271V126H352H352V136H433V140Z\""));
  EXPECT_THAT(page, HasSubstr("<title>memory: at most 4,000 bytes</title>"));
  EXPECT_THAT(page, HasSubstr("d=\"M271 156H271V142H352H352V149H433V156Z\""));
}

TEST(HtmlProcesses, OneProcessWithoutPhasesIsNotDrawn) {
  const Table phases = TableOfText("process p window=0..9\nthread main\n", "phases");
  EXPECT_EQ(ProcessesHtml({&phases}, 0), "");
  EXPECT_EQ(ProcessesHtml({}, 0), "");
}

TEST(HtmlProcesses, MoreThanFitAreLeftOutAndCounted) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "process p" + std::to_string(i) + " window=0..100\nthread main\n";
  }
  const Table phases = TableOfText(text, "phases");
  const std::string page = ProcessesHtml({&phases}, 0);
  EXPECT_EQ(Count(page, "<rect x="), 3 * kMaxProcessLanes);
  EXPECT_THAT(page, HasSubstr("40 of 60 are drawn"));
}

TEST(HtmlText, ShowsControlCharactersAndDirectionChangesInsteadOfObeyingThem) {
  EXPECT_EQ(CleanText("a\x1b[31m\tb\x7f"), "a␛[31m␉b␡");
  EXPECT_EQ(CleanText("\u202Egpj.exe"), "<U+202E>gpj.exe");
  EXPECT_EQ(CleanText("a\u2028b\u200B"), "a<U+2028>b<U+200B>");
  EXPECT_EQ(CleanText("שלום 🔥"), "שלום 🔥");
}

TEST(HtmlText, ReplacesBytesThatAreNoUtf8AsEveryDecoderDoes) {
  EXPECT_EQ(CleanText("\xff\x80x"), "��x");
  EXPECT_EQ(CleanText("\xc0\xbc"), "��");            // overlong <
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "���");       // a surrogate
  EXPECT_EQ(CleanText("\xf4\x90\x80\x80"), "����");  // above U+10FFFF
  EXPECT_EQ(CleanText("\xe2\x82"), "�");             // cut off
}

TEST(HtmlText, CutsLongTextsAndSaysHowLongTheyWere) {
  const std::string text = CleanText(std::string(1 << 20, 'x'));
  EXPECT_LT(text.size(), 400u);
  EXPECT_THAT(text, HasSubstr("… (1,048,576 bytes)"));
}

TEST(HtmlText, EscapesWhatEndsATextOrAnAttribute) {
  EXPECT_EQ(EscapeHtml("<a b=\"c\" d='e'>&amp;"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
}

TEST(HtmlText, JsonStringsHoldNothingThatEndsAScriptOrALine) {
  EXPECT_EQ(JsonString("</script>&\"\\"), "\"\\u003c/script\\u003e\\u0026\\\"\\\\\"");
  EXPECT_EQ(JsonString("\u2028"), "\"\\u003cU+2028\\u003e\"");
}

TEST(HtmlText, FormatsTimesWithFourDigitsAndTheUnitThatFits) {
  EXPECT_EQ(FormatNs(0), "0 ns");
  EXPECT_EQ(FormatNs(999), "999 ns");
  EXPECT_EQ(FormatNs(1'000), "1.000 µs");
  EXPECT_EQ(FormatNs(999'999), "1.000 ms");
  EXPECT_EQ(FormatNs(123'456'789), "123.5 ms");
  EXPECT_EQ(FormatNs(12'345'678'901), "12.35 s");
  EXPECT_EQ(FormatNs(-2'500'000), "-2.500 ms");
  EXPECT_EQ(FormatNs(12'345'000'000'000), "12,345 s");
}

TEST(HtmlText, FormatsCountsAndShares) {
  EXPECT_EQ(FormatCount(int64_t{1'234'567}), "1,234,567");
  EXPECT_EQ(FormatCount(int64_t{-1'234}), "-1,234");
  EXPECT_EQ(FormatCount(int64_t{999}), "999");
  EXPECT_EQ(FormatPercent(1, 8), "12.5 %");
  EXPECT_EQ(FormatPercent(1, 80), "1.25 %");
  EXPECT_EQ(FormatPercent(1, 0), "");
}

TEST(Numbers, WholeRealsAreExactAndOthersHaveFifteenDigits) {
  EXPECT_EQ(RealText(9'007'199'254'740'991), "9007199254740991");
  EXPECT_EQ(RealText(-12'345'678'901), "-12345678901");
  EXPECT_EQ(RealText(0x1p80), "1.20892581961463e+24");
  EXPECT_EQ(RealText(0.1), "0.1");
  EXPECT_EQ(RealText(1.0 / 3), "0.333333333333333");
  EXPECT_EQ(RealText(NAN), "");
  EXPECT_EQ(RealText(-INFINITY), "");
}

TEST(HtmlTable, OrdersByItsSizeColumnAndKeepsExactValues) {
  const Table table{"functions",
                    {{"name", Texts{"small", "large"}}, {"self_ns", Integers{1'500, 2'500'000}}},
                    {"A note."}};
  const std::string html = TableHtml(
      table, {.title = "Functions", .explanation = "Spans by name.", .largest_by = "self_ns"}, 0);
  EXPECT_LT(html.find("large"), html.find("small"));
  EXPECT_THAT(html, HasSubstr("data-v=\"2500000\">2.500 ms</td>"));
  EXPECT_THAT(html, HasSubstr("aria-sort=\"descending\" title=\"self_ns\">self</th>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"note\">A note.</p>"));
}

TEST(HtmlTable, KeepsTheRowsOfAProcessTogether) {
  const Table table{"operations",
                    {{"process", Texts{"main", "worker", "main"}},
                     {"operation", Texts{"little", "idle", "much"}},
                     {"wall_ns", Integers{1, 9, 5}}},
                    {}};
  const std::string html = TableHtml(table, {.largest_by = "wall_ns"}, 0);
  EXPECT_LT(html.find("much"), html.find("little"));
  EXPECT_LT(html.find("little"), html.find("idle"));
}

TEST(HtmlTable, NamesProcessesAsPeopleKnowThem) {
  ReportData data;
  data.tables = {{"processes",
                  {{"process", Texts{"p7-a", "p8-b", "p8-c", "p9-d"}},
                   {"name", Texts{"train.py", "worker", "worker", ""}},
                   {"pid", Integers{7, 8, 8, 9}}},
                  {}}};
  const ProcessTitles titles(data);
  EXPECT_EQ(titles.Of("p7-a"), "train.py (pid 7)");
  EXPECT_EQ(titles.Of("p8-c"), "worker (pid 8) p8-c");  // another machine's has that pid, too
  EXPECT_EQ(titles.Of("p9-d"), "p9-d (pid 9)");
  EXPECT_EQ(titles.Of("other"), "other");
  const Table table{"concurrency", {{"host_processes", Texts{"p7-a+p9-d", ""}}}, {}};
  const std::string html = TableHtml(table, {}, 0, titles);
  EXPECT_THAT(
      html,
      HasSubstr("<td class=\"who\" title=\"p7-a+p9-d\">train.py (pid 7) + p9-d (pid 9)</td>"));
  EXPECT_THAT(TableHtml(data.tables[0], {}, 0, titles), HasSubstr("<td>p7-a</td>"));  // its keys
}

TEST(HtmlTable, SaysWhatItLeftOut) {
  Texts names(1000, "x");
  const Table table{"functions", {{"name", names}}, {}};
  const std::string html = TableHtml(table, {}, 0);
  EXPECT_EQ(Count(html, "<tr>"), kMaxPageRows + 1);
  EXPECT_THAT(html, HasSubstr("300 of 1,000 rows"));
  EXPECT_THAT(html, HasSubstr("crosscut table RUN functions"));
}

TEST(HtmlTable, HasWordsForWhatIsEmptyOrUnknown) {
  const Table table{"overlap",
                    {{"operation", Texts{""}},
                     {"layers", Texts{""}},
                     {"device", Integers{1}},
                     {"ns", Integers{analyze::kMissing}},
                     {"begin_ns", Integers{2'000'000'500}},
                     {"score", analyze::Reals{std::nan("")}}},
                    {}};
  EXPECT_EQ(CellText(table.columns[0], 0, 0), "(no operation)");
  EXPECT_EQ(CellText(table.columns[1], 0, 0), "(nothing known)");
  EXPECT_EQ(CellText(table.columns[2], 0, 0), "busy");
  EXPECT_EQ(CellText(table.columns[3], 0, 0), "–");
  EXPECT_EQ(CellText(table.columns[4], 0, 2'000'000'000), "500 ns");
  EXPECT_EQ(CellText(table.columns[5], 0, 0), "–");
}

TEST(HtmlTable, ColoursOnlyLayersThatExist) {
  EXPECT_THAT(LayersHtml("framework+python"), HasSubstr("<i class=\"key k-framework\"></i>"));
  EXPECT_EQ(LayersHtml("x\" onclick=\"y"), "x&quot; onclick=&quot;y");
}

TEST(Html, ShowsGapsBeforeAnyNumber) {
  const std::string page = RenderHtml(SampleReport());
  const size_t gap = page.find("1,204 events were dropped");
  ASSERT_NE(gap, std::string::npos);
  EXPECT_LT(gap, page.find("class=\"headline\""));
  SampleOptions whole;
  whole.gaps = false;
  EXPECT_THAT(RenderHtml(SampleReport(whole)), HasSubstr("Nothing is known to be missing"));
}

TEST(Html, TheVerdictStandsOnTopAndItsFirstCauseInFull) {
  const std::string page = RenderHtml(SampleReport());
  const size_t first = page.find("<p class=\"answer\">The steps wait for input");
  ASSERT_NE(first, std::string::npos);
  EXPECT_LT(first, page.find("class=\"gaps\""));
  EXPECT_LT(first, page.find("Garbage collection takes"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#table-operations\">Table: Operations</a>"));
  EXPECT_EQ(Count(page, "id=\"table-verdict\""), 1u);
  EXPECT_THAT(RenderHtml({}), Not(HasSubstr("id=\"verdict\"")));
}

TEST(Html, TablesWithoutRowsAreNamedOnceWithWhatWouldRecordThem) {
  ReportData data;
  for (const char* name : {"samples", "kernels", "launches", "drops"}) {
    data.tables.push_back({name, {{"x", Texts()}}, {}});
  }
  data.tables.push_back({"sources", {{"name", Texts{"pytorch"}}}, {}});
  const std::string page = RenderHtml(data);
  EXPECT_EQ(Count(page, "<details class=\"table\""), 1u);
  EXPECT_THAT(page, HasSubstr("4 tables have no rows"));
  EXPECT_EQ(Count(page, "crosscut record --python=samples"), 1u);
  EXPECT_EQ(Count(page, "work on devices is recorded by"), 1u) << "two tables, one sentence";
  EXPECT_THAT(page, HasSubstr("nothing of this kind happened"));
}

TEST(Html, FoldsGapsAfterTheMostSerious) {
  ReportData data;
  for (int i = 0; i < 40; ++i) data.gaps.push_back("Gap " + std::to_string(i) + ".");
  const std::string page = RenderHtml(data);
  const size_t fold = page.find("<details><summary>34 more</summary>");
  ASSERT_NE(fold, std::string::npos);
  EXPECT_LT(page.find("Gap 5."), fold);
  EXPECT_GT(page.find("Gap 6."), fold);
  EXPECT_LT(page.find("Gap 39."), page.find("</details></section>"));
}

TEST(Html, AllowsItsOwnScriptAndStyleAndNothingElse) {
  const std::string page = RenderHtml(SampleReport());
  EXPECT_THAT(page.substr(0, 600),
              HasSubstr("default-src 'none'; script-src '" + std::string(kPageScriptHash) +
                        "'; style-src '" + std::string(kPageStyleHash) + "'"));
  EXPECT_EQ(Count(page, "<script"), 2u);
  EXPECT_EQ(Count(page, "<style"), 1u);
  EXPECT_EQ(Count(page, "https:"), 0u);
  EXPECT_EQ(Count(page, "http:"), Count(page, "\"http://www.w3.org/2000/svg\""));  // a name
  EXPECT_EQ(Count(page, " style=\""), 0u);
  EXPECT_EQ(Count(page, " src="), 0u);
}

TEST(Html, APageThatComparesRunsHasTheDataOfBothAndTheTablesOfTheDifference) {
  ReportData data;
  data.title = "after against before";
  data.tables.push_back({"difference", {{"ns", Integers{7}}}, {}});
  ReportData base = SampleReport(), run = SampleReport();
  base.facts.emplace_back("Run", "before");
  run.facts.emplace_back("Run", "after");
  const std::string page = RenderComparisonHtml(data, "B is <slower>.", base, run);
  EXPECT_EQ(Count(page, "<script"), 3u);
  EXPECT_LT(page.find("\"run\":\"before\""), page.find("id=\"data-other\""));
  EXPECT_GT(page.find("\"run\":\"after\""), page.find("id=\"data-other\""));
  EXPECT_EQ(Count(page, "<details class=\"table\""), 1u);
  EXPECT_THAT(page, HasSubstr("id=\"table-difference\""));
  EXPECT_THAT(page, HasSubstr("<p class=\"answer\">B is &lt;slower&gt;.</p>"));
  EXPECT_THAT(page, HasSubstr("<li>B: 1,204 events were dropped"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"headline\"")));
}

TEST(Html, ItsScriptNeverTurnsTextIntoMarkupOrCode) {
  for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                           "eval(", "Function(", "createContextualFragment", "DOMParser", "fetch(",
                           "XMLHttpRequest", "WebSocket", "import("}) {
    EXPECT_EQ(kPageScript.find(word), std::string_view::npos) << word;
  }
}

TEST(Html, EveryNameOfTheCorpusStaysTextInEveryField) {
  const std::vector<std::string> corpus = XssCorpus();
  ASSERT_GE(corpus.size(), 60u);
  SampleOptions options;
  options.finest_tiles = 100;
  options.steps = 60;
  options.functions = 6;
  options.workers = 1;
  options.detail_spans = 10;
  options.names = {"harmless"};
  std::vector<std::string> pages = {RenderHtml(SampleReport(options))};
  for (const std::string& name : corpus) {
    options.names = {name};
    if (!name.empty()) pages.push_back(RenderHtml(SampleReport(options)));
  }
  const std::vector<std::string> shapes = Shapes(pages);
  ASSERT_GT(Count(shapes[0], "\n"), 500u);
  for (size_t i = 1; i < pages.size(); ++i) {
    EXPECT_TRUE(shapes[i] == shapes[0]) << "payload " << i << ": " << CleanText(corpus[i - 1]);
  }
}

TEST(Html, ShowsTablesItDoesNotKnow) {
  ReportData data = SampleReport();
  data.tables.push_back({"flights <b>", {{"legs", Integers{7}}}, {}});
  EXPECT_THAT(RenderHtml(data), HasSubstr("<h3>flights &lt;b&gt;</h3>"));
}

TEST(Html, ShowsTheTablesAndTilesThatTheAnalysesMake) {
  Result<trace::Trace> trace = trace::ParseText(R"(
process train pid=7 window=1000..90001000
thread main tid=7 base=python main
step step 1000 40001000 number=1 level=3
op forward 2000 30001000
span aten::mm 3000 20001000 framework
step step 41001000 90001000 number=2 level=3
op backward 42001000 80001000
span "mul<script>" 43001000 70001000 framework
device gpu0 device=0 stream=7
span gemm 5000 25001000 device
gap "Something is missing."
)");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const analyze::Context context(*trace);
  ReportData data;
  data.title = "train";
  data.gaps = analyze::Gaps(*trace, context);
  for (const analyze::TableEntry& entry : analyze::TableList()) {
    data.tables.push_back(entry.Make(*trace, context));
  }
  data.timeline = analyze::MakeTimeline(*trace, context);
  const std::string page = RenderHtml(data);
  EXPECT_EQ(Count(page, "<b>train</b> ran for <b class=\"n\">90.00 ms</b>"), 1u);
  EXPECT_EQ(Count(page, "<b>backward</b> took "), 1u);
  EXPECT_EQ(Count(page, ", mostly in <b>framework</b>"), 1u);
  EXPECT_GE(Count(page, "mul&lt;script&gt;"), 7u);
  EXPECT_GE(Count(page, "mul\\u003cscript\\u003e"), 1u);
  for (const char* table : {"operations", "overlap", "functions", "threads", "layers", "steps",
                            "processes", "overhead", "drops", "sources", "clocks"}) {
    EXPECT_EQ(Count(page, std::string("id=\"table-") + table + "\""), 1u) << table;
  }
}

TEST(RenderHtml, APageStaysSmallWhateverTheNamesAre) {
  ReportData data;
  data.timeline.end_ns = 1;
  data.timeline.processes.emplace_back();
  for (int i = 0; i < 12'000; ++i) {
    data.timeline.texts.push_back(std::string(250, '<') + std::to_string(i));
  }
  const std::string page = RenderHtml(data);
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_GE(Count(page, "\\u003c… (255 bytes)"), 2'000u);  // what is cut says so
}

TEST(Document, NeedsTheTablesThatItNamesAndNoOthers) {
  Result<trace::Trace> trace = trace::ParseText(R"(
process train pid=7 window=1000..90001000
source pytorch 2.13.0 on
probe op 10 5 12 18 100
thread main tid=7 base=python main
step step 1000 40001000 number=1 level=3
op forward 2000 30001000
span aten::mm 3000 20001000 framework probe=op
step step 41001000 60001000 number=2 level=0 switch
step step 60001000 70001000 number=3 level=1 switch
step step 70001000 90001000 number=4 level=2 switch
instant [sample] 35001000
arg covers_ns 10000
arg "Own line" "train.py:3 main"
)");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const analyze::Context context(*trace);
  ReportData all, some;
  const auto named = DocumentTables();
  for (const analyze::TableEntry& entry : analyze::TableList()) {
    all.tables.push_back(entry.Make(*trace, context));
    const bool needed = std::find(named.begin(), named.end(), entry.name) != named.end();
    if (needed) some.tables.push_back(all.tables.back());
  }
  EXPECT_EQ(some.tables.size(), named.size());
  const std::string text = RenderText(all, {120, false});
  EXPECT_EQ(text, RenderText(some, {120, false}));
  for (const char* part : {"forward", "What a step is made of", "train.py:3 main", "pytorch"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Html, RendersARunWithNothingInIt) {
  const std::string page = RenderHtml({});
  EXPECT_THAT(page, HasSubstr("A recorded run"));
  EXPECT_THAT(page, HasSubstr("\"all_steps\":0"));
}

TEST(Html, StaysSmallForALongRun) {
  SampleOptions options;
  options.steps = 100'000;
  options.workers = 20;
  options.functions = 20'000;
  options.finest_tiles = 2'200;
  options.detail_spans = 2'000;
  const std::string page = RenderHtml(SampleReport(options));
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_LT(kPageScript.size() + kPageStyle.size(), 100u << 10);
}

TEST(HtmlJson, ThinsStepsToTheSlowestAndFastestOfEachGroup) {
  ReportData data;
  Integers step, begin, end;
  Texts process;
  for (int64_t i = 0; i < 30'000; ++i) {
    process.push_back("p");
    step.push_back(i);
    begin.push_back(i * 1000);
    end.push_back(i * 1000 + (i == 17'017 ? 999 : 100));
  }
  data.tables = {
      {"steps", {{"process", process}, {"step", step}, {"begin_ns", begin}, {"end_ns", end}}, {}}};
  const std::string json = PageJson(data);
  EXPECT_THAT(json, HasSubstr("\"all_steps\":30000"));
  EXPECT_THAT(json, HasSubstr(",17017,"));
  EXPECT_LE(Count(json.substr(json.find("\"begin_ns\""),
                              json.find("\"end_ns\"") - json.find("\"begin_ns\"")),
                  ","),
            kMaxPageSteps + 1);
}

TEST(Html, SaysWhenTheBarsLackCells) {
  ReportData data;
  const auto with_cells = [&](size_t cells) {
    data.tables = {{"part_work",
                    {{"process", Texts(cells, "p")},
                     {"part", Texts(cells, "steps")},
                     {"work", Texts(cells, "o")},
                     {"layers", Texts(cells, "python")},
                     {"device", Integers(cells, 0)},
                     {"ns", Integers(cells, 7)}},
                    {}}};
    return RenderHtml(data);
  };
  EXPECT_THAT(with_cells(kMaxPageCells + 1), HasSubstr("20,000 largest of 20,001 rows"));
  EXPECT_THAT(with_cells(kMaxPageCells), Not(HasSubstr("largest of")));
}

TEST(HtmlJson, CountsTimesFromTheBeginOfTheRun) {
  ReportData data;
  data.tables = {{"processes",
                  {{"process", Texts{"a", "b"}}, {"start_ns", Integers{5'000'700, 5'000'000}}},
                  {}}};
  EXPECT_EQ(PageOrigin(data), 5'000'000);
  EXPECT_THAT(PageJson(data), HasSubstr("\"start_ns\":[700,0]"));
}

TEST(Html, MemoryOverTimeIsDrawnWithoutAScript) {
  auto trace = trace::ParseText(
      "# crosscut trace\nprocess p window=0..200\nthread main tid=1 main lead\n"
      "instant [memory] 0\narg Bytes 1000\ninstant [memory] 50\narg Bytes -500\n"
      "instant [memory] 100\narg Bytes -500\ninstant [memory] 150\narg Bytes 250\n");
  ASSERT_TRUE(trace.ok());
  const analyze::Context context(*trace);
  auto timeline = analyze::ComputeTable(*trace, context, "memory_timeline");
  ASSERT_TRUE(timeline.ok());
  const std::string page = MemoryHtml(&*timeline, 0);
  EXPECT_THAT(page, HasSubstr("p, cpu: at most 1,000 bytes, from 0 ns to 200 ns"));
  // Full height until 50, half of it until 100, nothing until 150.
  EXPECT_THAT(page, HasSubstr("M0 100H0V0H5"));
  EXPECT_THAT(page, HasSubstr("V50H500"));
  EXPECT_THAT(page, HasSubstr("V100H750V75"));
  EXPECT_EQ(MemoryHtml(nullptr, 0), "");
  EXPECT_EQ(Count(page, "<svg"), 1u);
}

}  // namespace
}  // namespace crosscut::report
