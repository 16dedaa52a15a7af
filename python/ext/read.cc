// crosscut._read: runs and their tables for Python. Never loaded by `import crosscut`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/ext/read_arrow.h"
#include "python/ext/read_text.h"
#include "src/analyze/figures.h"
#include "src/analyze/gaps.h"
#include "src/analyze/tables.h"
#include "src/base/nearest.h"
#include "src/base/shown_text.h"
#include "src/verbs/browser.h"
#include "src/verbs/cut.h"
#include "src/verbs/input.h"
#include "src/verbs/leftovers.h"
#include "src/verbs/output.h"
#include "src/verbs/report.h"
#include "src/verbs/runs.h"
#include "src/verbs/table.h"

namespace nb = nanobind;

namespace crosscut::read {
namespace {

// A ValueError: what is asked for cannot be meant. The command exits with kUsage.
PyObject* wrong_use = nullptr;

// Raises the Python error that fits; `lookup`: what is not found is a name, not a file.
[[noreturn]] void Raise(const Status& status, bool lookup) {
  PyObject* type = PyExc_ValueError;
  if (status.code() == Status::Code::kUnsupported) {
    type = wrong_use;
  } else if (status.code() == Status::Code::kNotFound) {
    type = lookup ? PyExc_KeyError : PyExc_FileNotFoundError;
  } else if (status.code() == Status::Code::kIo) {
    type = PyExc_OSError;
  }
  PyErr_SetObject(type, nb::steal(StrOf(status.message())).ptr());
  throw nb::python_error();
}

std::vector<std::string> BytesOf(const std::vector<Path>& paths) {
  std::vector<std::string> out;
  for (const Path& path : paths) out.push_back(path.bytes);
  return out;
}

class Table {
 public:
  explicit Table(analyze::Table table)
      : table_(std::make_shared<const analyze::Table>(std::move(table))) {}

  const std::string& name() const { return table_->name; }
  const std::vector<std::string>& notes() const { return table_->notes; }
  size_t size() const { return table_->rows(); }

  std::vector<std::string> columns() const {
    std::vector<std::string> names;
    for (const analyze::Column& column : table_->columns) names.push_back(column.name);
    return names;
  }

  // A list of int, float or str; None where a number is missing.
  nb::list column(const std::string& name) const {
    const analyze::Column* column = table_->Find(name);
    if (column == nullptr) {
      Raise(Status::NotFound("table " + table_->name + " has no column " + name +
                             base::DidYouMean(name, columns())),
            true);
    }
    nb::list cells;
    if (const auto* integers = std::get_if<analyze::Integers>(&column->cells)) {
      for (const int64_t cell : *integers) {
        cells.append(cell == analyze::kMissing ? nb::none() : nb::object(nb::int_(cell)));
      }
    } else if (const auto* reals = std::get_if<analyze::Reals>(&column->cells)) {
      for (const double cell : *reals) {
        cells.append(std::isnan(cell) ? nb::none() : nb::object(nb::float_(cell)));
      }
    } else {
      for (const std::string& cell : std::get<analyze::Texts>(column->cells)) cells.append(cell);
    }
    return cells;
  }

  // The words that a page shows for the cells of a row; times since `origin`.
  std::vector<std::string> shown(size_t row, int64_t origin) const {
    return verbs::ShownCells(*table_, row, origin);
  }

  // By column, whether its cells are numbers.
  std::vector<bool> numbers() const {
    std::vector<bool> out;
    for (const analyze::Column& column : table_->columns) {
      out.push_back(!std::holds_alternative<analyze::Texts>(column.cells));
    }
    return out;
  }

  // Of what gives an Arrow stream, in columns of int64, float64 and utf8.
  static std::shared_ptr<Table> FromArrow(const std::string& name, const nb::object& source) {
    const nb::object capsule = source.attr("__arrow_c_stream__")();
    auto* stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    auto table = ImportStream(name, stream);
    if (!table.ok()) Raise(table.status(), false);
    return std::make_shared<Table>(std::move(*table));
  }

  std::shared_ptr<Table> select(const verbs::TableQuery& query) const {
    auto chosen = verbs::Select(*table_, query);
    if (!chosen.ok()) Raise(chosen.status(), false);
    return std::make_shared<Table>(std::move(*chosen));
  }

  // What to say of the rows that are left out, or "".
  std::string write(const std::string& format, const verbs::TableQuery& query, const Path& file,
                    const std::vector<Path>& inputs) const {
    const verbs::TableOptions options{
        format == "json" ? verbs::TableFormat::kJson : verbs::TableFormat::kCsv, query};
    auto written = verbs::WriteTable(*table_, options, file.bytes, BytesOf(inputs));
    if (!written.ok()) Raise(written.status(), false);
    return written->remark;
  }

  // And whether they are whole ones.
  std::vector<bool> integers() const {
    std::vector<bool> out;
    for (const analyze::Column& column : table_->columns) {
      out.push_back(std::holds_alternative<analyze::Integers>(column.cells));
    }
    return out;
  }

  nb::object stream(const nb::object&) const {
    auto* stream = new ArrowArrayStream;
    ExportStream(table_, stream);
    return Capsule(stream, "arrow_array_stream");
  }

  nb::object schema() const {
    auto* schema = new ArrowSchema;
    ExportSchema(table_, schema);
    return Capsule(schema, "arrow_schema");
  }

 private:
  // Who takes what is inside sets its release to null, as Arrow wants; the shell is ours.
  template <class T>
  static nb::object Capsule(T* held, const char* name) {
    PyObject* capsule = PyCapsule_New(held, name, [](PyObject* self) {
      auto* inside = static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
      if (inside->release != nullptr) inside->release(inside);
      delete inside;
    });
    if (capsule == nullptr) throw nb::python_error();
    return nb::steal(capsule);
  }

  SharedTable table_;
};

class Run {
 public:
  explicit Run(std::unique_ptr<verbs::Input> input) : input_(std::move(input)) {}

  static std::shared_ptr<Run> Open(const Path& path) {
    Result<std::unique_ptr<verbs::Input>> input = [&] {
      nb::gil_scoped_release without_gil;
      return verbs::ReadInput(path.bytes);
    }();
    if (!input.ok()) Raise(input.status(), false);
    return std::make_shared<Run>(std::move(*input));
  }

  std::shared_ptr<Table> table(const std::string& name) const {
    Result<analyze::Table> table = [&] {
      nb::gil_scoped_release without_gil;
      return analyze::ComputeTable(input_->trace, *input_->context, name);
    }();
    if (!table.ok()) {
      const std::string problem(table.status().message());
      Raise(Status::NotFound(problem + (problem.ends_with('?') ? " " : "; ") +
                             "tables() lists them all"),
            true);
    }
    return std::make_shared<Table>(std::move(*table));
  }

  // ValueError where there is no such format.
  std::string report(const std::string& format, int width) const {
    static const std::map<std::string, verbs::ReportFormat> formats = {
        {"text", verbs::ReportFormat::kText},
        {"markdown", verbs::ReportFormat::kMarkdown},
        {"json", verbs::ReportFormat::kJson},
        {"html", verbs::ReportFormat::kHtml},
        {"summary", verbs::ReportFormat::kSummary}};
    const auto found = formats.find(format);
    if (found == formats.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : formats) names.push_back(name);
      Raise(Status::Invalid(base::UnknownName("format", format, names)), false);
    }
    verbs::ReportOptions options;
    options.format = found->second;
    options.width = width;
    nb::gil_scoped_release without_gil;
    return verbs::ReportOf(*input_, options);
  }

  // When the first process began: the zero of a page's times.
  int64_t origin() const {
    int64_t first = INT64_MAX;
    for (const trace::Process& process : input_->trace.processes) {
      first = std::min(first, process.start_ns);
    }
    return first == INT64_MAX ? 0 : first;
  }

  bool damaged() const { return input_->trace.damaged; }

  std::vector<std::string> gaps() const {
    nb::gil_scoped_release without_gil;
    return analyze::Gaps(input_->trace, *input_->context);
  }

 private:
  std::unique_ptr<verbs::Input> input_;
};

nb::dict TableNames() {
  nb::dict names;
  for (const analyze::TableEntry& entry : analyze::TableList()) {
    names[entry.name] = entry.description;
  }
  return names;
}

// The text of the verb `runs`, and the newest run's path; "" where there is none.
std::string RunsText(const Path& folder) {
  const Result<verbs::Output> runs = verbs::Runs(folder.bytes, 0);
  if (!runs.ok()) Raise(runs.status(), false);
  return runs->text;
}

Path NewestRun(const Path& folder) {
  const auto runs = verbs::FindRuns(folder.bytes);
  if (!runs.ok()) Raise(runs.status(), false);
  return {runs->empty() ? "" : runs->front().path};
}

// Writes the page of the input at `path` to where `crosscut open` does; that file.
Path WritePage(const Path& path, const std::string& page) {
  Path file = {verbs::PageOf(path.bytes)};
  const Status written = verbs::WriteWholeFile(file.bytes, page);
  if (!written.ok()) Raise(written, false);
  return file;
}

void WriteOutput(const Path& file, const std::vector<Path>& inputs, const nb::bytes& content) {
  const auto written = verbs::WriteOutput(file.bytes, BytesOf(inputs),
                                          std::string_view(content.c_str(), content.size()));
  if (!written.ok()) Raise(written.status(), false);
}

void RefuseInput(const Path& place, const std::vector<Path>& inputs) {
  const Status status = verbs::RefuseInput(place.bytes, BytesOf(inputs));
  if (!status.ok()) Raise(status, false);
}

void WriteFile(const Path& file, const nb::bytes& content) {
  const Status written = verbs::WriteWholeFile(
      file.bytes, std::string_view(content.c_str(), content.size()), /*durable=*/true);
  if (!written.ok()) Raise(written, false);
}

nb::tuple Pair(const verbs::RingCount& count) { return nb::make_tuple(count.rings, count.bytes); }

// Each a pair: rings, bytes.
nb::dict Leftovers(const verbs::Leftovers& found) {
  nb::dict out;
  out["ended"] = Pair(found.ended);
  out["in_use"] = Pair(found.in_use);
  out["unknown"] = Pair(found.unknown);
  return out;
}

nb::dict CleanLeftovers() {
  const verbs::CleanedRings cleaned = verbs::CleanLeftovers();
  nb::dict out = Leftovers(cleaned.left);
  out["emptied"] = Pair(cleaned.emptied);
  out["removed"] = Pair(cleaned.removed);
  out["problems"] = cleaned.problems;
  return out;
}

// Makes the run `output` of parts of what the process `key` of the run `input` recorded; each part
// as format::CutPart has it.
void CutRun(const Path& input, const std::string& key,
            const std::vector<std::array<uint64_t, 4>>& parts,
            const std::vector<std::pair<std::string, std::string>>& facts, const Path& output) {
  crosscut::format::Cut cut;
  cut.facts = facts;
  for (const auto& [begin, end, begin_ns, end_ns] : parts) {
    cut.parts.push_back({begin, end, static_cast<int64_t>(begin_ns), static_cast<int64_t>(end_ns)});
  }
  Status status;
  {
    const nb::gil_scoped_release others;
    status = verbs::CutRun(input.bytes, key, cut, output.bytes);
  }
  if (!status.ok()) Raise(status, false);
}

}  // namespace
}  // namespace crosscut::read

NB_MODULE(_read, module) {
  using crosscut::read::Run;
  using crosscut::read::Table;
  module.doc() = "Runs and their tables.";
  crosscut::read::wrong_use =
      PyErr_NewException("crosscut._read.WrongUse", PyExc_ValueError, nullptr);
  module.attr("WrongUse") = nb::borrow(crosscut::read::wrong_use);
  using crosscut::verbs::TableQuery;
  nb::class_<TableQuery>(module, "Query")
      .def(nb::init<std::vector<std::string>, std::string, size_t>());
  nb::class_<Table>(module, "Table")
      .def_prop_ro("name", &Table::name)
      .def_prop_ro("notes", &Table::notes)
      .def_prop_ro("columns", &Table::columns)
      .def_static("from_arrow", &Table::FromArrow)
      .def("__len__", &Table::size)
      .def("select", &Table::select)
      .def("write", &Table::write)
      .def("column", &Table::column)
      .def("shown", &Table::shown)
      .def_prop_ro("numbers", &Table::numbers)
      .def_prop_ro("integers", &Table::integers)
      .def("__arrow_c_stream__", &Table::stream, nb::arg("requested_schema") = nb::none())
      .def("__arrow_c_schema__", &Table::schema);
  nb::class_<Run>(module, "Run")
      .def("table", &Run::table)
      .def("report", &Run::report)
      .def_prop_ro("origin", &Run::origin)
      .def_prop_ro("damaged", &Run::damaged)
      .def_prop_ro("gaps", &Run::gaps);
  module.def("open", &Run::Open);
  module.def("tables", &crosscut::read::TableNames);
  module.def("runs", &crosscut::read::RunsText);
  module.def("newest_run", &crosscut::read::NewestRun);
  module.def("write_page", &crosscut::read::WritePage);
  module.def("write_output", &crosscut::read::WriteOutput);
  module.def("write_file", &crosscut::read::WriteFile);
  module.def("refuse_input", &crosscut::read::RefuseInput);
  using Names = std::vector<std::string>;
  module.def("did_you_mean", [](const std::string& wrong, const Names& names) {
    return crosscut::base::DidYouMean(wrong, names);
  });
  module.def("unknown_name",
             [](const std::string& what, const std::string& wrong, const Names& names) {
               return crosscut::base::UnknownName(what, wrong, names);
             });
  module.def("shown_text", [](const std::string& text) { return crosscut::base::ShownText(text); });
  module.def("time_text", &crosscut::analyze::TimeText);
  module.def("leftover_rings",
             [] { return crosscut::read::Leftovers(crosscut::verbs::CountLeftovers()); });
  module.def("clean_leftover_rings", &crosscut::read::CleanLeftovers);
  module.def("remove_runs_of_ended", [](const crosscut::read::Path& prefix) {
    crosscut::verbs::RemoveRunsOfEnded(prefix.bytes);
  });
  module.def("cut_run", &crosscut::read::CutRun);
}
