#include "src/import/chrome/chrome_processes.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

namespace crosscut::import {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Those for which `holds`; all where it holds for none.
template <class Holds>
std::vector<uint32_t> Prefer(const std::vector<uint32_t>& all, Holds holds) {
  std::vector<uint32_t> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), holds);
  return some.empty() ? all : some;
}

}  // namespace

ChromePid MakeChromePid(std::string_view text) {
  ChromePid pid;
  pid.text = text;
  const char* const begin = text.data();
  const auto [rest, error] = std::from_chars(begin, begin + text.size(), pid.number);
  if (error == std::errc() && rest == begin + text.size()) return pid;
  pid.number = -1;
  size_t end = text.size();
  while (end > 0 && !IsDigit(text[end - 1])) --end;
  size_t first = end;
  while (first > 0 && IsDigit(text[first - 1])) --first;
  if (first == end || std::from_chars(begin + first, begin + end, pid.number).ec != std::errc()) {
    return pid;
  }
  pid.label.append(text.substr(0, first)).append(text.substr(end));
  return pid;
}

ChromeProcesses::ChromeProcesses(std::vector<ChromePid>* pids,
                                 const std::pmr::deque<ChromeRow>& rows,
                                 trace::StringId correlation)
    : pids_(*pids), rows_(rows), correlation_(correlation) {}

void ChromeProcesses::Decide() {
  FindHosts();
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i].owner == kNone && pids_[i].device) FindOwner(i);
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i].owner == kNone) FindAny(i);
  }
}

// Rows of threads under the pid of a device: PyTorch writes some Python functions under pid 0, and
// runtimes of some devices their own calls.
bool ChromeProcesses::IsDevices(const ChromePid& pid) const {
  const ChromePid& main = pids_[main_];
  if (&pid == &main || main.operators == 0 || pid.operators > 0) return false;
  if (!pid.kind.empty() && pid.kind != "CPU") return true;
  return pid.spans == pid.python && (pid.number == 0 || pid.device);
}

void ChromeProcesses::FindHosts() {
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    const bool more = main_ == kNone || pids_[i].operators > pids_[main_].operators;
    if (pids_[i].host && more) main_ = i;
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    ChromePid& pid = pids_[i];
    const bool own = pid.host && !IsDevices(pid);
    pid.owner = own ? i : kNone;
    if (own) hosts_.push_back(i);
    launching_ += own && pid.launches > 0 ? 1 : 0;
  }
}

void ChromeProcesses::FindOwner(uint32_t index) {
  ChromePid& pid = pids_[index];
  Hosts hosts = NamedFor(pid, hosts_);
  if (hosts.empty()) {
    pid.owner = StrangersLike(index);
    return;
  }
  hosts = Prefer(hosts, [this](uint32_t host) { return pids_[host].operators > 0; });
  hosts = Prefer(hosts, [this](uint32_t host) { return pids_[host].launches > 0; });
  pid.told = hosts.size() == 1;
  pid.owner = pid.told ? hosts.front() : MostLaunched(index, hosts);
}

ChromeProcesses::Hosts ChromeProcesses::NamedFor(const ChromePid& device, Hosts hosts) const {
  const auto keep = [&](bool known, auto holds) {
    const bool used = known && std::any_of(hosts.begin(), hosts.end(), [&](uint32_t host) {
                        return pids_[host].rank >= 0 || !pids_[host].label.empty();
                      });
    Hosts some;
    std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(some), holds);
    if (used || !some.empty()) hosts = std::move(some);
  };
  if (device.rank >= 0) {
    keep(true, [&](uint32_t host) { return pids_[host].rank == device.rank; });
  }
  if (!device.label.empty()) {
    keep(true, [&](uint32_t host) { return pids_[host].label == device.label; });
  }
  if (hosts.size() > 1 && device.name.valid() && !device.two_names) {
    const auto same = [&](uint32_t host) { return pids_[host].name == device.name; };
    if (std::count_if(hosts.begin(), hosts.end(), same) == 1) keep(false, same);
  }
  return hosts;
}

// Of a pid without rows, which may have counters.
void ChromeProcesses::FindAny(uint32_t index) {
  const Hosts named = NamedFor(pids_[index], hosts_);
  if (!named.empty()) {
    pids_[index].owner = named.front();
  } else if (!hosts_.empty()) {
    pids_[index].owner = hosts_.front();
  } else {
    pids_[index].owner = index;
    for (uint32_t i = 0; i < pids_.size(); ++i) {
      if (i != index && pids_[i].owner == i) pids_[index].owner = i;
    }
  }
}

// Devices of a process of which there is nothing else: one process for those of one rank or label.
uint32_t ChromeProcesses::StrangersLike(uint32_t index) const {
  const ChromePid& pid = pids_[index];
  for (uint32_t i = 0; i < index; ++i) {
    const ChromePid& other = pids_[i];
    const bool stranger = other.owner == i && !other.host;
    if (stranger && other.rank == pid.rank && other.label == pid.label) return i;
  }
  return index;
}

// Where several fit alike, the one that stands before the device in the file.
uint32_t ChromeProcesses::MostLaunched(uint32_t device, const Hosts& hosts) {
  FindLaunches();
  std::vector<uint64_t> fits(pids_.size());
  for (const ChromeRow& row : rows_) {
    if (row.pid != device || row.place != Place::kDevice) continue;
    for (size_t i = 0; i < row.spans.size(); ++i) {
      const ChromeSpan& span = row.spans[i];
      uint32_t counted = kNone;
      const auto [first, last] = LaunchesOf(CorrelationOf(row, span));
      for (size_t l = first; l < last; ++l) {
        if (launches_[l].at_ns > span.begin_ns || launches_[l].pid == counted) continue;
        counted = launches_[l].pid;
        ++fits[counted];
      }
    }
  }
  uint32_t best = hosts.front();
  for (const uint32_t host : hosts) {
    if (fits[host] > fits[best] || (fits[host] == fits[best] && host < device)) best = host;
  }
  return best;
}

void ChromeProcesses::FindLaunches() {
  if (std::exchange(found_launches_, true)) return;
  for (const ChromeRow& row : rows_) {
    if (row.place != Place::kThread || pids_[row.pid].owner != row.pid) continue;
    for (size_t i = 0; i < row.spans.size(); ++i) {
      const int64_t correlation = CorrelationOf(row, row.spans[i]);
      if (correlation > 0) launches_.push_back({correlation, row.pid, row.spans[i].begin_ns});
    }
  }
  std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
    return std::tie(a.correlation, a.pid, a.at_ns) < std::tie(b.correlation, b.pid, b.at_ns);
  });
}

int64_t ChromeProcesses::CorrelationOf(const ChromeRow& row, const ChromeSpan& span) const {
  const trace::Arg arg = row.args.Find(span.owner, correlation_);
  return arg.key.valid() && !arg.is_text ? arg.value : 0;
}

std::pair<size_t, size_t> ChromeProcesses::LaunchesOf(int64_t correlation) const {
  if (correlation <= 0) return {0, 0};
  const auto before = [](const Launch& a, int64_t number) { return a.correlation < number; };
  const auto first = std::lower_bound(launches_.begin(), launches_.end(), correlation, before);
  const auto last = std::lower_bound(first, launches_.end(), correlation + 1, before);
  return {static_cast<size_t>(first - launches_.begin()),
          static_cast<size_t>(last - launches_.begin())};
}

bool ChromeProcesses::Shared(const ChromeRow& row) const {
  return row.place != Place::kThread && !pids_[row.pid].told;
}

uint32_t ChromeProcesses::OnlyLauncher(const ChromeRow& row, const ChromeSpan& span) const {
  const auto [first, last] = LaunchesOf(CorrelationOf(row, span));
  const bool one = first < last && launches_[first].pid == launches_[last - 1].pid;
  return one ? launches_[first].pid : kNone;
}

uint32_t ChromeProcesses::OwnerOf(const ChromeRow& row, const ChromeSpan& span) const {
  const uint32_t only = OnlyLauncher(row, span);
  return only != kNone ? only : pids_[row.pid].owner;
}

uint64_t ChromeProcesses::Unsure(const ChromeRow& row) const {
  uint64_t unsure = 0;
  for (size_t i = 0; row.place == Place::kDevice && i < row.spans.size(); ++i) {
    unsure += OnlyLauncher(row, row.spans[i]) == kNone ? 1 : 0;
  }
  return unsure;
}

}  // namespace crosscut::import
