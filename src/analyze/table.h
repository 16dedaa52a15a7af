// A table: named columns of equal length. Every analysis returns tables and every view shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/analyze/texts.h"

namespace crosscut::analyze {

// A column's cells. The column's name has the unit of integers (wall_ns, bytes). A cell that is not
// known is kMissing (integers), NaN (reals) or "" (texts).
inline constexpr int64_t kMissing = INT64_MIN;
using Integers = std::vector<int64_t>;
using Reals = std::vector<double>;

struct Column {
  std::string name;
  std::variant<Integers, Reals, Texts> cells;
  size_t size() const {
    return std::visit([](const auto& v) { return v.size(); }, cells);
  }
  // Gives back the memory that growing left over: tables live as long as a report.
  void ShrinkToFit() {
    if (auto* texts = std::get_if<Texts>(&cells)) texts->ShrinkToFit();
    if (auto* integers = std::get_if<Integers>(&cells)) integers->shrink_to_fit();
    if (auto* reals = std::get_if<Reals>(&cells)) reals->shrink_to_fit();
  }
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  // Sentences that belong to the numbers: "control steps: not checked (12 blocks of 20)".
  std::vector<std::string> notes;

  size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  // Null where there is no column of that name.
  const Column* Find(std::string_view column) const {
    for (const Column& c : columns) {
      if (c.name == column) return &c;
    }
    return nullptr;
  }
  // Requires: the column exists and has that type.
  const Integers& integers(std::string_view c) const { return std::get<Integers>(Find(c)->cells); }
  const Reals& reals(std::string_view c) const { return std::get<Reals>(Find(c)->cells); }
  const Texts& texts(std::string_view c) const { return std::get<Texts>(Find(c)->cells); }
};

}  // namespace crosscut::analyze
