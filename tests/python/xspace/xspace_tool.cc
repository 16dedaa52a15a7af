// xspace_tool dump FILE...    what our reader finds in each, as text, a line "----" behind each
// xspace_tool rewrite IN OUT  reads by our reader, writes by our writer
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "src/base/file.h"
#include "src/xspace/reader.h"
#include "src/xspace/writer.h"

namespace crosscut::xspace {
namespace {

std::string Hex(std::string_view bytes) {
  std::string text;
  char digits[3];
  for (const char byte : bytes) {
    snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

std::string Number(int64_t number) { return std::to_string(number); }

std::string Value(const Plane& plane, const Stat& stat) {
  switch (stat.type) {
    case Stat::Type::kNone: return "none";
    case Stat::Type::kDouble: return "double " + std::to_string(std::bit_cast<uint64_t>(stat.real));
    case Stat::Type::kUint64: return "uint64 " + std::to_string(stat.number);
    case Stat::Type::kInt64: return "int64 " + Number(static_cast<int64_t>(stat.number));
    case Stat::Type::kText: return "text " + Hex(stat.text);
    case Stat::Type::kBytes: return "bytes " + Hex(stat.text);
    case Stat::Type::kRef: return "ref " + Hex(plane.stat_name(static_cast<int64_t>(stat.number)));
  }
  return "";
}

class Dump {
 public:
  Status Space(std::string_view bytes) {
    Status status = ForEachPlane(bytes, [&](const Plane& plane) { return OnePlane(plane); });
    for (const auto& [which, word] : {std::pair(Texts::kErrors, "error"),
                                      {Texts::kWarnings, "warning"},
                                      {Texts::kHostnames, "hostname"}}) {
      const auto texts = SpaceTexts(bytes, which);
      if (!texts.ok()) return texts.status();
      for (const std::string_view text : *texts) Line(std::string(word) + " " + Hex(text));
    }
    return status;
  }

 private:
  static void Line(const std::string& line) { puts(line.c_str()); }

  Status OneStat(const Plane& plane, const Stat& stat, const char* indent) {
    Line(std::string(indent) + Hex(plane.stat_name(stat.metadata_id)) + " " + Value(plane, stat));
    return Status();
  }

  Status OnePlane(const Plane& plane) {
    Line("plane " + Number(plane.id) + " " + Hex(plane.name));
    Status status = plane.ForEachStat([&](const Stat& s) { return OneStat(plane, s, " stat "); });
    if (!status.ok()) return status;
    return plane.ForEachLine([&](const xspace::Line& line) {
      Line(" line " + Number(line.id) + " " + Number(line.display_id) + " " + Hex(line.name) + " " +
           Hex(line.display_name) + " " + Number(line.timestamp_ns) + " " +
           Number(line.duration_ps));
      return ForEachEvent(line, [&](const Event& event) { return OneEvent(plane, event); });
    });
  }

  Status OneEvent(const Plane& plane, const Event& event) {
    const EventMetadata metadata = plane.event_metadata(event.metadata_id);
    Line("  event " + Hex(metadata.name) + " " + Hex(metadata.display_name) + " " +
         (event.aggregated ? "times " + Number(event.num_occurrences)
                           : "at " + Number(event.offset_ps)) +
         " " + Number(event.duration_ps));
    Status status = ForEachMetadataStat(
        metadata.bytes, [&](const Stat& s) { return OneStat(plane, s, "   of all "); });
    if (!status.ok()) return status;
    return ForEachEventStat(event.bytes,
                            [&](const Stat& s) { return OneStat(plane, s, "   stat "); });
  }
};

class Rewrite {
 public:
  Result<std::string> Space(std::string_view bytes) {
    Status status = ForEachPlane(bytes, [&](const Plane& plane) { return OnePlane(plane); });
    if (!status.ok()) return status;
    for (const auto& [which, add] : {std::pair(Texts::kErrors, &SpaceWriter::AddError),
                                     {Texts::kWarnings, &SpaceWriter::AddWarning},
                                     {Texts::kHostnames, &SpaceWriter::AddHostname}}) {
      const auto texts = SpaceTexts(bytes, which);
      if (!texts.ok()) return texts.status();
      for (const std::string_view text : *texts) (space_.*add)(text);
    }
    return space_.Finish();
  }

 private:
  Status OnePlane(const Plane& plane) {
    PlaneWriter& out = space_.AddPlane(plane.id, plane.name);
    Status status = plane.ForEachStat([&](const Stat& stat) {
      const int64_t id = out.StatName(plane.stat_name(stat.metadata_id));
      if (stat.type == Stat::Type::kText) {
        out.TextStat(id, stat.text);
      } else {
        out.Int64Stat(id, static_cast<int64_t>(stat.number));
      }
      return Status();
    });
    if (!status.ok()) return status;
    return plane.ForEachLine([&](const Line& line) {
      LineWriter& to = out.AddLine(line.id, line.name, line.timestamp_ns);
      return ForEachEvent(line, [&](const Event& event) {
        to.Event(out.EventName(plane.event_metadata(event.metadata_id).name), event.offset_ps,
                 event.duration_ps);
        return ForEachEventStat(event.bytes, [&](const Stat& stat) {
          OneStat(plane, stat, &out, &to);
          return Status();
        });
      });
    });
  }

  static void OneStat(const Plane& plane, const Stat& stat, PlaneWriter* out, LineWriter* to) {
    const int64_t id = out->StatName(plane.stat_name(stat.metadata_id));
    const auto number = static_cast<int64_t>(stat.number);
    switch (stat.type) {
      case Stat::Type::kDouble: return to->DoubleStat(id, stat.real);
      case Stat::Type::kUint64: return to->Uint64Stat(id, stat.number);
      case Stat::Type::kInt64: return to->Int64Stat(id, number);
      case Stat::Type::kText: return to->TextStat(id, stat.text);
      case Stat::Type::kRef: return to->RefStat(id, out->StatName(plane.stat_name(number)));
      default: return;
    }
  }

  SpaceWriter space_;
};

int Fail(const Status& status) {
  fprintf(stderr, "%.*s\n", static_cast<int>(status.message().size()), status.message().data());
  return 1;
}

int RunDump(int count, char** files) {
  for (int i = 0; i < count; ++i) {
    const auto bytes = base::ReadSmallFile(files[i], kMaxSpaceBytes);
    if (!bytes.ok()) return Fail(bytes.status());
    if (Status status = Dump().Space(*bytes); !status.ok()) return Fail(status);
    puts("----");
  }
  return 0;
}

int RunRewrite(const char* in, const char* out) {
  const auto bytes = base::ReadSmallFile(in, kMaxSpaceBytes);
  if (!bytes.ok()) return Fail(bytes.status());
  const auto written = Rewrite().Space(*bytes);
  if (!written.ok()) return Fail(written.status());
  std::ofstream(out, std::ios::binary) << *written;
  return 0;
}

int RunPass(const char* in, const char* out) {
  const auto bytes = base::ReadSmallFile(in, kMaxSpaceBytes);
  if (!bytes.ok()) return Fail(bytes.status());
  SpaceWriter space;
  const Status status = ForEachPlane(*bytes, [&](const Plane& plane) {
    return space.AddPlane(plane.id, plane.name).PassOn(plane, [](const Line& line) {
      PlaneWriter::PassedLine passed{line.timestamp_ns, {}};
      passed.note.role = LineNote::kPassed;
      return passed;
    });
  });
  if (!status.ok()) return Fail(status);
  const auto written = space.Finish();
  if (!written.ok()) return Fail(written.status());
  std::ofstream(out, std::ios::binary) << *written;
  return 0;
}

}  // namespace
}  // namespace crosscut::xspace

int main(int argc, char** argv) {
  using namespace crosscut::xspace;
  if (argc > 2 && std::strcmp(argv[1], "dump") == 0) return RunDump(argc - 2, argv + 2);
  if (argc == 4 && std::strcmp(argv[1], "rewrite") == 0) return RunRewrite(argv[2], argv[3]);
  if (argc == 4 && std::strcmp(argv[1], "pass") == 0) return RunPass(argv[2], argv[3]);
  return 2;
}
