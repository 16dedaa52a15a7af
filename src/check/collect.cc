// C7: the two calls of collect_data_xspace.
#include <algorithm>
#include <vector>

#include "src/check/harness/guard.h"
#include "src/check/harness/xspace_rules.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

enum class Between { kNothing, kSecondQuery, kWork };

struct Case {
  const char* name;
  int64_t room;  // bytes of the buffer beyond what the query said
  size_t told;   // what *size says instead of the room; 0: the room
  Between between;
};
constexpr Case kCases[] = {
    {"a buffer of exactly the size asked for", 0, 0, Between::kNothing},
    {"a second query before the fetch", 0, 0, Between::kSecondQuery},
    {"more device work between query and fetch", 0, 0, Between::kWork},
    {"a buffer that is 1 byte too small", -1, 0, Between::kNothing},
    {"a buffer of 1 byte", -1'000'000'000, 0, Between::kNothing},
    {"a buffer that is 4096 bytes larger", 4096, 0, Between::kNothing},
    {"*size = SIZE_MAX", 0, SIZE_MAX, Between::kNothing},
};

// A session up to the query; its size, or 0.
size_t SessionUpToQuery(Plugin* plugin) {
  const Session session = RunSession(plugin, {kSomeWork, Collect::kNone, 100'000});
  size_t size = 0;
  if (!session.ok() || plugin->Query(&size) != TF_OK || size > kMaxSpaceBytes) return 0;
  return size;
}

void DoBetween(Plugin* plugin, const Case& c, size_t size) {
  if (c.between == Between::kWork) WorkNow(10 * kSomeWork);
  if (c.between != Between::kSecondQuery) return;
  size_t again = 0;
  const TF_Code code = plugin->Query(&again);
  if (code == TF_OK && again == size) return;
  Fail("C7.query", "a second query gives " + std::to_string(again) + " bytes after " +
                       std::to_string(size) +
                       ": serialise once, at the first, and hold the "
                       "bytes until they are fetched");
}

void CheckResult(const Case& c, size_t size, size_t fetched) {
  const std::string with = std::string(" with ") + c.name;
  if (fetched > size) {
    Fail("C7.size", "the fetch reports " + std::to_string(fetched) + " bytes" + with +
                        ", more than the query said (" + std::to_string(size) +
                        "): the second size is never larger than the first");
    return;
  }
  if (c.room < 0) return;  // an error, or what fits: both will do
  if (fetched < size) {
    Warn("C7.shrinks", "the fetch reports " + std::to_string(fetched) + " bytes" + with +
                           " where the query said " + std::to_string(size) +
                           ": TensorFlow parses the first size whatever the second is");
  }
}

void CheckCase(Plugin* plugin, const Case& c, bool plain_parses) {
  Phase(c.name);
  const size_t size = SessionUpToQuery(plugin);
  if (size == 0) return;
  const int64_t room = std::max<int64_t>(1, static_cast<int64_t>(size) + c.room);
  const GuardedBytes buffer(static_cast<size_t>(room), 0);
  DoBetween(plugin, c, size);
  OnGuardTouched("C7.overrun", std::string("collect_data_xspace writes behind the buffer, given ") +
                                   c.name +
                                   ": copy no more than *size bytes, and no more than "
                                   "you have; set a status where it is too small");
  size_t fetched = c.told != 0 ? c.told : buffer.size();
  const TF_Code code = plugin->Fetch(buffer.data(), &fetched);
  OnGuardTouched("", "");
  if (buffer.FrontTouched()) {
    Fail("C7.overrun",
         std::string("collect_data_xspace writes in front of the buffer, given ") + c.name);
  }
  if (code != TF_OK) {
    if (c.room < 0 || c.told != 0) return;
    Fail("C7.status", "collect_data_xspace sets a status with " + std::string(c.name) + ": " +
                          plugin->message());
    return;
  }
  CheckResult(c, size, fetched);
  if (fetched > size) return;
  const std::string_view bytes(reinterpret_cast<const char*>(buffer.data()),
                               std::min(fetched, buffer.size()));
  if (plain_parses && c.room >= 0 && CountEvents(bytes) < 0) {
    Fail("C7.parse", std::string("what collect_data_xspace gives with ") + c.name +
                         " is no XSpace, though it is one otherwise");
  }
}

}  // namespace

void RunCollect() {
  const auto plugin = Plugin::Make(false);
  if (plugin == nullptr) return;
  const Session plain = RunSession(plugin.get(), {kSomeWork, Collect::kFull, 1'000'000});
  if (plain.bytes.empty()) {
    HasOutput(plugin.get());
    return;
  }
  const bool parses = CountEvents(plain.bytes) >= 0;
  for (const Case& c : kCases) {
    ReportEnding(InFork([&] { CheckCase(plugin.get(), c, parses); }), "C7");
  }
}

}  // namespace crosscut::check
