#include "src/analyze/verdict/blamed_lines.h"

#include <algorithm>
#include <cmath>

namespace crosscut::analyze {

std::string LineText(const trace::Trace& trace, const Line& line) {
  const std::string text(trace.text(line.text));
  switch (line.kind) {
    case LineKind::kOwn: return text;
    case LineKind::kImport: return text.empty() ? "(imports)" : text + " (imports)";
    case LineKind::kLibrary: return "(no line of the program's own)";
    case LineKind::kExit: return "(interpreter exit)";
    case LineKind::kNativeExit: return "(exit behind the interpreter's end)";
    case LineKind::kPreempted: return "(no processor)";
    case LineKind::kNone: break;
  }
  return "";
}

const char* LineKindName(LineKind kind) {
  switch (kind) {
    case LineKind::kOwn: return "line";
    case LineKind::kImport: return "import";
    case LineKind::kLibrary: return "library";
    case LineKind::kExit:
    case LineKind::kNativeExit: return "exit";
    case LineKind::kPreempted:
    case LineKind::kNone: break;
  }
  return "none";
}

std::string_view NumberOfLine(std::string_view line) {
  for (size_t space = line.rfind(' '); space != line.npos && space > 0;
       space = line.rfind(' ', space - 1)) {
    const size_t colon = line.substr(0, space).find_last_not_of("0123456789");
    if (colon != line.npos && colon + 1 < space && line[colon] == ':') return line.substr(0, space);
  }
  return line;
}

std::string_view FrameOfLine(std::string_view line) {
  return line.substr(NumberOfLine(line).rfind('/') + 1);  // npos + 1 is 0
}

Blamed PartOf(const Blamed& blamed, double part) {
  const auto share = [part](int64_t of) { return std::llround(part * static_cast<double>(of)); };
  return {share(blamed.ns), share(blamed.samples), part * part * blamed.variance};
}

Told PartOf(const Told& told, double part) {
  Told out;
  for (const auto& [line, blamed] : told.lines) out.Add(line, PartOf(blamed, part));
  return out;
}

BlamedLines Scaled(const Told& told, int64_t ns) {
  BlamedLines out;
  const double scale =
      told.all.ns <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(told.all.ns);
  int64_t before = 0, given = 0;  // of the lines so far
  for (const auto& [line, blamed] : told.lines) {
    before += blamed.ns;
    const int64_t until = std::llround(scale * static_cast<double>(before));
    out[line] = {until - given, blamed.samples, scale * scale * blamed.variance};
    given = until;
  }
  out[Line()].ns += ns - given;
  return out;
}

namespace {

// The variance of what no sample says: even where all agree, none tells what is between two.
double BetweenSamples(const Blamed& blamed) {
  const double one =
      static_cast<double>(blamed.ns) / static_cast<double>(std::max<int64_t>(blamed.samples, 1));
  return one * one;
}

}  // namespace

double ReachOf(const Blamed& blamed) {
  return 1.96 * std::sqrt(std::max(blamed.variance, 0.0) + BetweenSamples(blamed));
}

LineBounds LineBoundsOf(const Blamed& blamed, int64_t whole_ns) {
  // A line of twice the time has twice the variance (counts of samples are Poisson's): the times
  // whose own variance reaches to what was seen (a score interval), further above than below.
  const auto ns = static_cast<double>(blamed.ns);
  const double shift = ns <= 0 ? 0 : 1.96 * 1.96 / 2 * std::max(blamed.variance, 0.0) / ns;
  const double reach = std::hypot(ReachOf(blamed), shift);
  return {std::max<int64_t>(0, static_cast<int64_t>(ns + shift - reach)),
          std::min(whole_ns, static_cast<int64_t>(ns + shift + reach))};
}

}  // namespace crosscut::analyze
