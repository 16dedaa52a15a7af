#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

struct Reader {
  const crosscut_host* host;
  char* complaint;
  size_t bytes;

  const char* Text(const char* key) const {
    const char* text = host->option(host->host, key);
    return text != nullptr && text[0] != '\0' ? text : nullptr;
  }
  void Complain(const char* key, const char* text, const char* wanted) const {
    std::snprintf(complaint, bytes, "option %s=%s is not understood (%s); the default holds", key,
                  text, wanted);
  }
  // One of two words.
  void Choice(const char* key, const char* yes, const char* no, bool* value) const {
    const char* text = Text(key);
    if (text == nullptr) return;
    if (std::strcmp(text, yes) == 0 || std::strcmp(text, no) == 0) {
      *value = std::strcmp(text, yes) == 0;
      return;
    }
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "%s or %s", yes, no);
    Complain(key, text, wanted);
  }
  void Number(const char* key, uint32_t low, uint32_t high, uint32_t* value) const {
    const char* text = Text(key);
    if (text == nullptr) return;
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && number >= low && number <= high) {
      *value = static_cast<uint32_t>(number);
      return;
    }
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "%u to %u", low, high);
    Complain(key, text, wanted);
  }
};

}  // namespace

Options ReadOptions(const crosscut_host* host, char* complaint, size_t bytes) {
  complaint[0] = '\0';
  const Reader reader = {host, complaint, bytes};
  Options options;
  options.library = reader.Text("library");
  reader.Number("buffers", 2, 1024, &options.buffers);
  uint32_t kib = options.buffer_bytes >> 10;
  reader.Number("buffer_kib", 16, 65536, &kib);
  options.buffer_bytes = kib << 10;
  reader.Number("flows", 1024, 1u << 24, &options.flows);
  reader.Choice("calls", "on", "off", &options.calls);
  reader.Choice("driver", "on", "off", &options.driver);
  reader.Choice("graphs", "nodes", "launches", &options.graph_nodes);
  reader.Choice("sync", "on", "off", &options.synchronisation);
  reader.Choice("activities", "on", "off", &options.activities);
  options.inflation = reader.Text("inflation");
  reader.Choice("timestamps", "host", "cupti", &options.own_timestamps);
  return options;
}

MetricOptions ReadMetricOptions(const crosscut_host* host, char* complaint, size_t bytes) {
  const Reader reader = {host, complaint, bytes};
  MetricOptions options;
  options.names = reader.Text("metrics");
  reader.Choice("metrics_per", "kernel", "window", &options.per_kernel);
  reader.Choice("metrics_replay", "on", "off", &options.replay);
  return options;
}

}  // namespace crosscut::cupti
