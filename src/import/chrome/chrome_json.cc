// Traces in Chrome's JSON format: Kineto's (PyTorch), VizTracer's and others'. docs/chrome-json.md
// says what of it becomes what.
#include <algorithm>
#include <string>

#include "src/import/chrome/chrome_events.h"
#include "src/import/chrome/json_events.h"
#include "src/import/importer.h"
#include "src/import/text_stream.h"

namespace crosscut::import {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool SniffChromeJson(const Input& input) {
  if (input.directory) return false;
  const std::string head = TextHead(input.head);
  const size_t mark = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const size_t first = head.find_first_not_of(" \t\r\n", mark);
  if (first == std::string::npos) return false;
  if (head[first] == '{') return Has(head, "\"");
  if (head[first] != '[') return false;
  // A list of events; the first may be longer than the head.
  const size_t inside = head.find_first_not_of(" \t\r\n", first + 1);
  return inside != std::string::npos &&
         (head[inside] == '{' || head.compare(inside, 4, "null") == 0);
}

Result<trace::Trace> MakeChromeJson(const Input& input) {
  Result<std::unique_ptr<TextStream>> text = OpenText(input.path);
  if (!text.ok()) return text.status();
  ChromeEvents events(/*keep=*/input.purpose == Purpose::kExport);
  const Result<JsonReading> reading = ReadJsonEvents(text->get(), &events);
  if (!reading.ok()) return reading.status().At(input.path);
  if (reading->events == 0 && (reading->damaged > 0 || !reading->cut_off.empty())) {
    return Status::Corrupt(input.path + ": none of its events can be read" +
                           (reading->cut_off.empty() ? "" : ": " + reading->cut_off) +
                           "; was it written to its end?");
  }
  return events.Finish(*reading);
}

}  // namespace crosscut::import
