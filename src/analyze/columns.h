// Writing a table row by row.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/analyze/table.h"

namespace crosscut::analyze {

// A column of a table that is being written.
template <class Cells>
class ColumnOf {
 public:
  explicit ColumnOf(std::string name) : name_(std::move(name)) {}

  template <class Cell>
  void Add(const Cell& cell) {
    if constexpr (std::is_same_v<Cells, Integers>) {
      static_assert(std::is_integral_v<Cell>, "a real is rounded where it is made");
      cells_.push_back(static_cast<int64_t>(cell));
    } else {
      cells_.push_back(cell);
    }
  }
  void MoveTo(Table& table) { table.columns.push_back({std::move(name_), std::move(cells_)}); }

 private:
  std::string name_;
  Cells cells_;
};
using Text = ColumnOf<Texts>;
using Integer = ColumnOf<Integers>;
using Real = ColumnOf<Reals>;

// Neighbouring columns of one type, which are one argument: Several<Integer>(names). Their cells
// come together, as a range of as many.
template <class Column>
class Several {
 public:
  template <class Names>
  explicit Several(const Names& names) {
    for (const auto& name : names) columns_.emplace_back(name);
  }

  template <class Range>
  void Add(const Range& cells) {
    auto column = columns_.begin();
    for (const auto& cell : cells) (column++)->Add(cell);
  }
  void MoveTo(Table& table) {
    for (Column& column : columns_) column.MoveTo(table);
  }

 private:
  std::vector<Column> columns_;
};

// Writes a table: TableRows table("t", Text("name"), Integer("ns")) has these columns, each
// Add("a", 5) adds a row with a cell for each, and Make(), called once, gives the table.
template <class... Columns>
class TableRows {
 public:
  explicit TableRows(std::string name, Columns... columns) : columns_(std::move(columns)...) {
    table_.name = std::move(name);
  }

  template <class... Cells>
  void Add(const Cells&... cells) {
    static_assert(sizeof...(Cells) == sizeof...(Columns), "a row has a cell for each column");
    std::apply([&](Columns&... column) { (column.Add(cells), ...); }, columns_);
  }
  // A sentence that belongs to the numbers.
  void Note(std::string note) { table_.notes.push_back(std::move(note)); }
  Table Make() {
    std::apply([&](Columns&... column) { (column.MoveTo(table_), ...); }, columns_);
    return std::move(table_);
  }

 private:
  Table table_;
  std::tuple<Columns...> columns_;
};

}  // namespace crosscut::analyze
