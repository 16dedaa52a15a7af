#include "src/import/native/native_cells.h"

#include "src/trace/stacks.h"

namespace crosscut::import {
namespace {

constexpr std::string_view kFact = "cell:";

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool TakeCell(std::string_view key, std::string_view value, Cells* cells) {
  if (!key.starts_with(kFact)) return false;
  (*cells)[std::string(LastPart(key.substr(kFact.size())))] = value;
  return true;
}

std::string WithCell(const Cells& cells, std::string_view name) {
  trace::CodePlace place;
  if (trace::ParseCodePlace(name, &place)) {  // "work (a/31847.py:3)"
    const auto cell = cells.find(LastPart(place.file));
    if (cell == cells.end()) return "";
    return std::string(place.function) + " (" + cell->second + ":" + std::to_string(place.line) +
           ")";
  }
  const size_t colon = name.find(':');  // "31847.py:3 work"
  if (colon == std::string_view::npos) return "";
  const auto cell = cells.find(LastPart(name.substr(0, colon)));
  return cell == cells.end() ? "" : cell->second + std::string(name.substr(colon));
}

}  // namespace crosscut::import
