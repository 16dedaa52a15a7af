// Building a table column by column.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "src/analyze/table.h"

namespace crosscut::analyze {

// Moves the columns in, in this order.
template <class... C>
Table MakeTable(std::string name, C&&... columns) {
  Table table;
  table.name = std::move(name);
  table.columns.reserve(sizeof...(columns));
  (table.columns.push_back(std::forward<C>(columns)), ...);
  return table;
}

// Moves the cells out of `cells`, which is Integers, Reals or Texts.
template <class Cells>
Column MakeColumn(const char* name, Cells& cells) {
  return Column{name, std::move(cells)};
}

// Makes a table that shows `rows`, column by column: TableOf("t", rows).Text("name",
// name).Integer("ns", &Row::ns).Make(). The argument for a cell is a function of a row or a member
// of it. `rows` must live until Make(), which is called once.
template <class Rows>
class TableOf {
 public:
  TableOf(std::string name, const Rows& rows) : rows_(rows) { table_.name = std::move(name); }

  template <class Cell>
  TableOf& Text(const char* name, Cell cell) {
    Texts texts;
    texts.reserve(rows_.size());
    for (const auto& row : rows_) texts.emplace_back(std::invoke(cell, row));
    table_.columns.push_back(MakeColumn(name, texts));
    return *this;
  }
  template <class Cell>
  TableOf& Integer(const char* name, Cell cell) {
    Integers integers;
    integers.reserve(rows_.size());
    for (const auto& row : rows_) integers.push_back(std::invoke(cell, row));
    table_.columns.push_back(MakeColumn(name, integers));
    return *this;
  }
  Table Make() { return std::move(table_); }

 private:
  const Rows& rows_;
  Table table_;
};

}  // namespace crosscut::analyze
