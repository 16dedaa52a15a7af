// Writes sample pages for the browser's tests: write_sample FOLDER.
#include <fstream>
#include <iostream>
#include <string>

#include "src/report/testing/sample_report.h"
#include "src/report/testing/xss_corpus.h"
#include "src/report/views.h"

int main(int argc, char** argv) {
  using crosscut::report::SampleOptions;
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const auto write = [&](const char* name, const SampleOptions& options) {
    std::ofstream out(folder + "/" + name, std::ios::binary);
    out << crosscut::report::RenderHtml(crosscut::report::SampleReport(options));
    return out.good();
  };
  SampleOptions hostile;
  hostile.names = crosscut::report::XssCorpus();
  SampleOptions small;
  small.steps = 60;
  small.workers = 0;
  small.device = false;
  small.gaps = false;
  small.huge_last = true;
  SampleOptions large;  // as much as a run of any length can bring
  large.steps = 100'000;
  large.workers = 20;
  large.functions = 20'000;
  large.finest_tiles = 2'200;
  large.detail_spans = 2'000;
  const auto compare = [&](const SampleOptions& base, const SampleOptions& run) {
    crosscut::report::ReportData one = crosscut::report::SampleReport(base);
    crosscut::report::ReportData two = crosscut::report::SampleReport(run);
    one.facts.emplace_back("Run", "before");
    two.facts.emplace_back("Run", "after");
    crosscut::report::ReportData difference;
    difference.title = "after against before";
    difference.tables.push_back(*one.Find("operations"));
    std::ofstream out(folder + "/compared.html", std::ios::binary);
    out << crosscut::report::RenderComparisonHtml(difference, "No change is certain.", one, two);
    return out.good();
  };
  const bool good = compare({}, small) && write("sample.html", {}) &&
                    write("hostile.html", hostile) && write("small.html", small) &&
                    write("large.html", large);
  if (!good) std::cerr << "cannot write to " << folder << "\n";
  return good ? 0 : 1;
}
